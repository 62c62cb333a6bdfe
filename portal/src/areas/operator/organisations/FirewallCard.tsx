import { Button, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, Shield } from 'lucide-react';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { operatorFirewallMessages as text } from '../../../messages/operator-firewall.ts';
import { personClient } from '../../../session/session.ts';
import { listOf } from '../fleet/list-of.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import { LIST_MS, useDeclared } from '../queries.ts';
import { type FirewallItem, loadFirewall } from './firewall-items.ts';

/** Groups, geo rules and blocked sources that are declared for an organisation. */
export function FirewallCard({ slug }: { readonly slug: string }) {
  const [edited, setEdited] = useState<FirewallItem | 'new' | null>(null);
  const declared = useQuery({
    queryKey: ['operator', 'firewall', slug],
    queryFn: ({ signal }) => loadFirewall(slug, signal),
    refetchInterval: LIST_MS,
  });
  const close = (): void => setEdited(null);
  return (
    <Loaded query={declared}>
      {(items) => (
        <ListPanel
          title={text.title}
          lead={text.lead}
          isHeaded
          actions={
            <Button
              variant="default"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => setEdited('new')}
            >
              {text.block}
            </Button>
          }
          above={
            edited === 'new' ? (
              <BlockForm slug={slug} onClose={close} />
            ) : (
              edited && <ChangeForm key={edited.key} slug={slug} item={edited} onClose={close} />
            )
          }
          rows={items}
          empty={{ icon: Shield, ...text.none }}
        >
          {(rows) => (
            <ul className="items">
              {rows.map((item) => (
                <Row key={item.key} item={item} onEdit={() => setEdited(item)} />
              ))}
            </ul>
          )}
        </ListPanel>
      )}
    </Loaded>
  );
}

function Row({ item, onEdit }: { readonly item: FirewallItem; onEdit(): void }) {
  const { title, detail, owner } = item;
  return (
    <li>
      <div>
        <span className="strong">{title}</span>
        <div className="dim">{detail}</div>
      </div>
      <div className="row-end">
        <OwnerPill owner={owner} />
        {owner !== 'fleet' && (
          <>
            <Button
              variant="default"
              size="compact-sm"
              aria-label={text.editOf(title)}
              onClick={onEdit}
            >
              {text.edit}
            </Button>
            <ConfirmButton
              size="compact-sm"
              aria-label={text.removeOf(title)}
              title={text.removeTitle(title)}
              question={text.removeText}
              write={() => item.remove()}
            >
              {text.remove}
            </ConfirmButton>
          </>
        )}
      </div>
    </li>
  );
}

interface FormProps {
  readonly slug: string;
  onClose(): void;
}

/** Blocks sources of a target that has no list yet. */
function BlockForm({ slug, onClose }: FormProps) {
  return (
    <WriteForm
      label={text.block}
      layout="panel"
      initial={{ target: 'all', sources: '' }}
      submit={text.block}
      refusal={({ target, sources }) => target.trim() === '' || listOf(sources).length === 0}
      write={({ target, sources }) =>
        personClient.saveBlockedList(
          {
            organisation: slug,
            target: target.trim(),
            body: { sources: listOf(sources).map((source) => ({ source })) },
          },
          { ifNoneMatch: '*' },
        )
      }
      onDone={onClose}
      onCancel={onClose}
    >
      {({ getInputProps }) => (
        <>
          <TextInput
            label={text.target}
            description={text.targetHint}
            required
            autoFocus
            {...getInputProps('target')}
          />
          <ListField label={text.sources} {...getInputProps('sources')} />
        </>
      )}
    </WriteForm>
  );
}

/** Changes the addresses or the sources that were read, and not what another has changed since. */
function ChangeForm({ slug, item, onClose }: FormProps & { readonly item: FirewallItem }) {
  const read = useDeclared(['firewall', slug, item.key], (how) => item.read(how));
  return (
    <Loaded query={read}>
      {({ list, etag }) => (
        <WriteForm
          label={text.editOf(item.title)}
          layout="panel"
          initial={{ list: list.join('\n') }}
          submit={text.save}
          write={(draft) => item.change(listOf(draft.list), etag === null ? {} : { ifMatch: etag })}
          onDone={onClose}
          onCancel={onClose}
        >
          {({ getInputProps }) => <ListField label={item.label} {...getInputProps('list')} />}
        </WriteForm>
      )}
    </Loaded>
  );
}

function ListField({ label, ...input }: { readonly label: string }) {
  return (
    <Textarea
      label={label}
      description={text.listHint}
      autosize
      minRows={2}
      maxRows={12}
      {...input}
    />
  );
}
