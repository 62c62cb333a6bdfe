import { Button, Switch } from '@mantine/core';
import type { DeclaredLibraryEgg } from '@portcullis/client/index.ts';
import { useNavigate } from '@tanstack/react-router';
import { Library, Plus } from 'lucide-react';
import { useState } from 'react';
import { ConfirmButton } from '../../components/forms/ConfirmButton.tsx';
import { useWrite } from '../../components/forms/use-write.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Pill } from '../../components/Pill.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { libraryMessages as text } from '../../messages/library.ts';
import { personClient, useSession } from '../../session/session.ts';
import { EggDialog } from './EggDialog.tsx';
import { fieldsOfGame, GameCards } from './GameCards.tsx';
import { type ListedEgg, useAdded, useLibrary } from './queries.ts';

const SEARCH = { label: text.search, fieldsOf: (egg: ListedEgg) => fieldsOfGame(egg) };

/** The games with what an operator does with them: adds, updates and removes them, and offers them to owners. */
export default function OperatorLibrary() {
  const eggs = useLibrary();
  const added = useAdded();
  /** '': a new one. */
  const [open, setOpen] = useState<string | null>(null);
  const opened = added.data?.find(({ name }) => name === open) ?? null;
  return (
    <>
      <ListPanel
        title={text.title}
        query={eggs}
        rows={eggs.data}
        search={SEARCH}
        actions={
          <Button leftSection={<Plus size={15} aria-hidden="true" />} onClick={() => setOpen('')}>
            {text.add.button}
          </Button>
        }
        empty={{ icon: Library, ...text.empty }}
        none={text.none}
        foot={text.shown}
      >
        {(rows) => (
          <GameCards
            games={rows}
            footOf={(egg) => (
              <GameFoot
                egg={egg}
                declared={added.data?.find(({ name }) => name === egg.name) ?? null}
                onUpdate={() => setOpen(egg.name)}
              />
            )}
          />
        )}
      </ListPanel>
      {(open === '' || opened !== null) && (
        <EggDialog
          before={opened}
          taken={(eggs.data ?? []).map(({ name }) => name)}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  );
}

interface FootProps {
  readonly egg: ListedEgg;
  /** Null: it is shipped. */
  readonly declared: DeclaredLibraryEgg | null;
  onUpdate(): void;
}

function GameFoot({ egg, declared, onUpdate }: FootProps) {
  const { organisation } = useSession();
  const navigate = useNavigate();
  const { name, title } = egg;
  const refusal =
    declared === null ? text.isShipped : declared.owner === 'fleet' ? text.ofFleet : null;
  return (
    <>
      <Pill tone="neutral">{egg.shipped ? text.shipped : text.added}</Pill>
      {declared !== null && declared.servers > 0 && (
        <span className="dim">{text.used(declared.servers)}</span>
      )}
      {declared !== null && refusal === null && <Offer egg={declared} />}
      <span className="row row-end">
        {declared !== null && (
          <>
            <RoleButton
              size="compact-sm"
              variant="default"
              refusal={refusal}
              aria-label={text.update.of(title)}
              onClick={onUpdate}
            >
              {text.update.button}
            </RoleButton>
            <ConfirmButton
              size="compact-sm"
              refusal={refusal}
              aria-label={text.remove.of(title)}
              title={text.remove.title(title)}
              question={text.remove.text}
              write={() => personClient.removeLibraryEgg({ name })}
            >
              {text.remove.button}
            </ConfirmButton>
          </>
        )}
        {organisation !== null && (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={text.makeOf(title)}
            onClick={() => void navigate({ to: '/servers/new', search: { egg: name } })}
          >
            {text.make}
          </Button>
        )}
      </span>
    </>
  );
}

function Offer({ egg: { name, offered } }: { readonly egg: DeclaredLibraryEgg }) {
  const offer = useWrite((wanted: boolean) =>
    personClient.changeLibraryEgg({ name, body: { offered: wanted } }),
  );
  return (
    <Switch
      size="xs"
      label={text.offer}
      checked={offer.isPending ? offer.variables : offered}
      onChange={(event) => offer.mutate(event.currentTarget.checked)}
    />
  );
}
