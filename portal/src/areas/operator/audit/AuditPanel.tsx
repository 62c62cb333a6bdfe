import { Button, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditTrail } from '@portcullis/client/index.ts';
import { ScrollText } from 'lucide-react';
import { Fragment, useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { SearchField } from '../../../components/SearchField.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { useOrganisations } from '../queries.ts';

const text = messages.operator.audit;
const PER_PAGE = 50;
/** So that a word typed is one search. */
const TYPING_MS = 300;
type Entry = AuditTrail['data'][number];

/** Who did what, newest first; the service searches. */
export function AuditPanel() {
  const [typed, setTyped] = useState('');
  const [organisation, setOrganisation] = useState<string | null>(null);
  const [search] = useDebouncedValue(typed.trim(), TYPING_MS);
  const organisations = useOrganisations();
  const trail = useInfiniteQuery({
    queryKey: ['operator', 'audit', search, organisation],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam, signal }) => {
      const query = {
        per_page: PER_PAGE,
        ...(search !== '' && { search }),
        ...(organisation !== null && { organisation }),
        ...(pageParam !== null && { before: pageParam }),
      };
      return personClient.readAuditTrail({ query }, { signal });
    },
    getNextPageParam: ({ data, links }) => (links.next === null ? null : (data.at(-1)?.id ?? null)),
  });
  const entries = trail.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="card" aria-label={text.title}>
      <div className="tools card-pad">
        <SearchField label={text.search} value={typed} onChange={setTyped} />
        <Select
          aria-label={text.organisation}
          placeholder={text.allOrganisations}
          data={(organisations.data ?? []).map(({ slug }) => slug)}
          value={organisation}
          onChange={setOrganisation}
          clearable
          searchable
        />
      </div>
      {trail.error !== null ? (
        <ErrorState error={trail.error} onRetry={() => void trail.refetch()} />
      ) : trail.data === undefined ? (
        <Loading />
      ) : entries.length === 0 ? (
        <EmptyState icon={ScrollText} title={text.none.title} text={text.none.text} />
      ) : (
        <EntryTable entries={entries} />
      )}
      {trail.hasNextPage && (
        <div className="row card-pad">
          <Button
            variant="default"
            loading={trail.isFetchingNextPage}
            onClick={() => void trail.fetchNextPage()}
          >
            {text.older}
          </Button>
        </div>
      )}
    </section>
  );
}

function EntryTable({ entries }: { readonly entries: readonly Entry[] }) {
  const [open, setOpen] = useState<number | null>(null);
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.columns.at}</th>
            <th scope="col">{text.columns.actor}</th>
            <th scope="col">{text.columns.action}</th>
            <th scope="col">{text.columns.target}</th>
            <th scope="col">{text.columns.organisation}</th>
            <th scope="col">{text.columns.source}</th>
            <th scope="col">
              <span className="hidden">{text.columns.detail}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Fragment key={entry.id}>
              <tr>
                <td className="dim nowrap">
                  <Time at={entry.at} />
                </td>
                <td>
                  <Pill tone={entry.actor_kind === 'operator' ? 'warn' : 'neutral'} plain>
                    {text.actors[entry.actor_kind] ?? entry.actor_kind}
                  </Pill>{' '}
                  {entry.actor}
                </td>
                <td className="mono">{entry.action}</td>
                <td className="mono">{entry.target}</td>
                <td className="mono">{entry.organisation ?? ''}</td>
                <td className="mono dim">{entry.source ?? ''}</td>
                <td className="num">
                  <Button
                    variant="subtle"
                    color="gray"
                    size="compact-sm"
                    aria-expanded={open === entry.id}
                    aria-label={text.detailOf(entry.action, entry.target)}
                    onClick={() => setOpen(open === entry.id ? null : entry.id)}
                  >
                    {text.columns.detail}
                  </Button>
                </td>
              </tr>
              {open === entry.id && (
                <tr>
                  <td colSpan={7}>
                    <Detail entry={entry} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Detail({ entry: { detail, request_id: request, generation } }: { readonly entry: Entry }) {
  return (
    <pre className="detail mono">
      {JSON.stringify(
        { ...detail, ...(generation !== null && { generation }), request_id: request },
        null,
        2,
      )}
    </pre>
  );
}
