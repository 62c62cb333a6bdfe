import { Button, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditTrail } from '@portcullis/client/index.ts';
import { ScrollText } from 'lucide-react';
import { useState } from 'react';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { SearchField } from '../../../components/list/SearchField.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { historyMessages } from '../../../messages/address-history.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { useOrganisations } from '../queries.ts';

const text = operatorMessages.audit;
const { columns } = text;
const PER_PAGE = 50;
/** So that a word typed is one search. */
const TYPING_MS = 300;
type Entry = AuditTrail['data'][number];

/** Who did what, newest first; the service searches. */
export function AuditPanel() {
  const [typed, setTyped] = useState('');
  const [organisation, setOrganisation] = useState<string | null>(null);
  const [search] = useDebouncedValue(typed.trim(), TYPING_MS);
  const [open, setOpen] = useState<number | null>(null);
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
  return (
    <ListPanel<Entry>
      title={text.title}
      query={trail}
      rows={trail.data?.pages.flatMap(({ data }) => data)}
      filter={
        <>
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
        </>
      }
      empty={{ icon: ScrollText, ...text.none }}
      keyOf={({ id }) => id}
      columns={[
        timeColumn(columns.at, ({ at }) => at),
        {
          title: columns.actor,
          cell: ({ actor, actor_kind: kind }) => (
            <>
              <Pill tone={kind === 'operator' ? 'warn' : 'neutral'} plain>
                {text.actors[kind] ?? kind}
              </Pill>{' '}
              {actor}
            </>
          ),
        },
        { title: columns.action, cell: ({ action }) => <Action action={action} /> },
        { title: columns.target, cell: ({ target }) => target.replace(':', ' ') },
        { title: columns.organisation, className: 'mono', cell: (entry) => entry.organisation },
        { title: columns.source, className: 'mono dim', cell: ({ source }) => source },
        {
          title: columns.detail,
          isTitleHidden: true,
          isNumber: true,
          cell: ({ id, action, target }) => (
            <Button
              variant="subtle"
              color="gray"
              size="compact-sm"
              aria-expanded={open === id}
              aria-label={text.detailOf(action, target)}
              onClick={() => setOpen(open === id ? null : id)}
            >
              {columns.detail}
            </Button>
          ),
        },
      ]}
      detailOf={(entry) => (open === entry.id ? <Detail entry={entry} /> : null)}
      older={text.older}
    />
  );
}

/** In words where it has some, and as the service calls it. */
function Action({ action }: { readonly action: string }) {
  const words: Readonly<Record<string, string>> = { ...historyMessages.change, ...text.actions };
  return (
    <>
      {words[action]} <span className="mono dim">{action}</span>
    </>
  );
}

function Detail({ entry: { detail, request_id: request, generation } }: { readonly entry: Entry }) {
  const shown = { ...detail, ...(generation !== null && { generation }), request_id: request };
  return <pre className="detail mono">{JSON.stringify(shown, null, 2)}</pre>;
}
