import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Library } from 'lucide-react';
import { lazy } from 'react';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { libraryMessages as text } from '../../messages/library.ts';
import { useSession } from '../../session/session.ts';
import { fieldsOfGame, GameCards } from './GameCards.tsx';
import { type OfferedEgg, useOffered } from './queries.ts';

const SEARCH = { label: text.search, fieldsOf: (egg: OfferedEgg) => fieldsOfGame(egg) };

const OperatorLibrary = lazy(() => import('./OperatorLibrary.tsx'));

/** The games of which servers can be made: to choose from for owners, to keep for operators. */
export function LibraryPage() {
  const { person } = useSession();
  const isOperator = person?.operator === true;
  return (
    <>
      <PageHeader title={text.title} lead={isOperator ? text.operatorLead : text.lead} />
      {isOperator ? (
        <OperatorLibrary />
      ) : (
        <RoleGate needs="owner">
          <OwnerLibrary />
        </RoleGate>
      )}
    </>
  );
}

function OwnerLibrary() {
  const eggs = useOffered();
  const navigate = useNavigate();
  return (
    <ListPanel
      title={text.title}
      query={eggs}
      rows={eggs.data}
      search={SEARCH}
      empty={{ icon: Library, ...text.empty }}
      none={text.none}
      foot={text.shown}
    >
      {(rows) => (
        <GameCards
          games={rows}
          footOf={({ name, title, filters }) => (
            <>
              {filters.length > 0 && (
                <span className="dim">
                  {text.filters(filters.map((filter) => filter.name).join(', '))}
                </span>
              )}
              <Button
                className="row-end"
                size="compact-sm"
                variant="default"
                aria-label={text.makeOf(title)}
                onClick={() => void navigate({ to: '/servers/new', search: { egg: name } })}
              >
                {text.make}
              </Button>
            </>
          )}
        />
      )}
    </ListPanel>
  );
}
