import { SegmentedControl } from '@mantine/core';
import type { GameServerStatus } from '@portcullis/client/index.ts';
import { SearchX, Server } from 'lucide-react';
import { useDeferredValue, useMemo, useState } from 'react';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Loading } from '../../components/Loading.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { SearchField } from '../../components/SearchField.tsx';
import { type SortState, VirtualTable } from '../../components/VirtualTable.tsx';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { useAttacks } from '../addresses/queries.ts';
import { useServers } from './queries.ts';
import { COLUMNS } from './server-columns.tsx';
import {
  isTroubled,
  rowsOf,
  searchRows,
  type ServerFilter,
  type ServerRow,
  type ServerSort,
  sortRows,
} from './server-rows.ts';

const text = messages.servers;
const FILTERS = (['all', 'running', 'offline', 'troubled'] as const).map((value) => ({
  value,
  label: text.filters[value],
}));

export function ServersPage() {
  const servers = useServers();
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      {servers.data !== undefined ? (
        <Listed servers={servers.data} />
      ) : (
        <section className="card grid" aria-label={text.title}>
          {servers.error === null ? (
            <Loading rows={10} />
          ) : (
            <ErrorState error={servers.error} onRetry={() => void servers.refetch()} />
          )}
        </section>
      )}
    </>
  );
}

function Listed({ servers }: { readonly servers: readonly GameServerStatus[] }) {
  const attacks = useAttacks();
  const all = useMemo(() => rowsOf(servers, attacks.data ?? []), [servers, attacks.data]);
  if (all.length === 0) {
    return (
      <section className="card" aria-label={text.title}>
        <EmptyState icon={Server} title={text.empty.title} text={text.empty.text} />
      </section>
    );
  }
  return (
    <>
      <Facts rows={all} />
      <section className="card grid" aria-label={text.title}>
        <ServerTable all={all} />
      </section>
    </>
  );
}

function Facts({ rows }: { readonly rows: readonly ServerRow[] }) {
  const facts = {
    servers: rows.length,
    running: rows.filter(({ state }) => state === 'running').length,
    troubled: rows.filter(isTroubled).length,
    attacked: rows.filter(({ attacks }) => attacks > 0).length,
  };
  return (
    <dl className="facts">
      {(['servers', 'running', 'troubled', 'attacked'] as const).map((fact) => (
        <div key={fact} className="fact">
          <dt>{text.facts[fact]}</dt>
          <dd>{formatCount(facts[fact])}</dd>
        </div>
      ))}
    </dl>
  );
}

function ServerTable({ all }: { readonly all: readonly ServerRow[] }) {
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<ServerFilter>('all');
  const [sort, setSort] = useState<SortState<ServerSort>>({ by: 'name', isDescending: false });
  const wanted = useDeferredValue(search);
  const rows = useMemo(
    () => sortRows(searchRows(all, wanted, filter), sort.by, sort.isDescending),
    [all, wanted, filter, sort],
  );
  return (
    <>
      <div className="tools card-pad">
        <SearchField label={text.search} value={search} onChange={setSearch} />
        <SegmentedControl
          aria-label={text.filter}
          data={FILTERS}
          value={filter}
          onChange={(value) => setFilter(value)}
        />
      </div>
      {rows.length === 0 ? (
        <EmptyState icon={SearchX} title={text.none.title} text={text.none.text} />
      ) : (
        <VirtualTable
          label={text.title}
          columns={COLUMNS}
          rows={rows}
          minWidth={900}
          sort={sort}
          keyOf={({ uuid }) => uuid}
          onSort={(by) =>
            setSort({ by, isDescending: sort.by === by ? !sort.isDescending : by !== 'name' })
          }
        />
      )}
      <div className="grid-foot" role="status">
        {text.shown(formatCount(rows.length), formatCount(all.length))}
      </div>
    </>
  );
}
