import { SegmentedControl, Select } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Network, SearchX } from 'lucide-react';
import { useDeferredValue, useMemo, useState } from 'react';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Loading } from '../../components/Loading.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { SearchField } from '../../components/SearchField.tsx';
import { type Column, type SortState, VirtualTable } from '../../components/VirtualTable.tsx';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import {
  type AddressFilter,
  type AddressRow,
  type AddressSort,
  rowsOf,
  searchRows,
  sortRows,
} from './address-rows.ts';
import { useFoundByNote, useTags } from './notes/queries.ts';
import { type Addresses, useAddresses, useAttacks } from './queries.ts';

const text = messages.addresses;
const FILTERS = (['all', 'attacked', 'configured', 'bare'] as const).map((value) => ({
  value,
  label: text.filters[value],
}));

export function AddressesPage() {
  const addresses = useAddresses();
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      {addresses.data !== undefined && <Facts held={addresses.data} />}
      <section className="card grid" aria-label={text.title}>
        {addresses.data !== undefined ? (
          <AddressTable held={addresses.data} />
        ) : addresses.error !== null ? (
          <ErrorState error={addresses.error} onRetry={() => void addresses.refetch()} />
        ) : (
          <Loading rows={10} />
        )}
      </section>
    </>
  );
}

function Facts({ held }: { readonly held: Addresses }) {
  const { liveGeneration: live, acceptedGeneration: accepted, enforcement } = held;
  const isLive = live !== null && accepted !== null && live >= accepted;
  return (
    <>
      {enforcement === 'none' && <Notice kind="warn">{text.notEnforced}</Notice>}
      {enforcement === 'partial' && <Notice kind="warn">{text.partlyEnforced}</Notice>}
      <dl className="facts">
        <div className="fact">
          <dt>{text.facts.addresses}</dt>
          <dd>{formatCount(held.addresses.length)}</dd>
        </div>
        <div className="fact">
          <dt>{text.facts.prefixes}</dt>
          <dd>{formatCount(held.prefixes.length)}</dd>
        </div>
        <div className="fact">
          <dt>{text.facts.configured}</dt>
          <dd>
            {formatCount(held.configured.used)}{' '}
            <small>{text.facts.of(formatCount(held.configured.limit))}</small>
          </dd>
        </div>
        <div className="fact">
          <dt>{text.facts.changes}</dt>
          <dd>
            {isLive ? (
              <Pill tone="ok">{text.facts.allLive}</Pill>
            ) : (
              <Pill tone="warn" moving>
                {text.facts.propagating}
              </Pill>
            )}
          </dd>
        </div>
      </dl>
    </>
  );
}

function AddressTable({ held }: { readonly held: Addresses }) {
  const attacks = useAttacks();
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<AddressFilter>('all');
  const [sort, setSort] = useState<SortState<AddressSort>>({ by: 'ip', isDescending: false });
  const wanted = useDeferredValue(search);
  const [tag, setTag] = useState<string | null>(null);
  const tags = useTags();
  const noted = useFoundByNote(search);
  const all = useMemo(
    () => rowsOf(held.addresses, attacks.data ?? [], tags),
    [held, attacks.data, tags],
  );
  const known = useMemo(() => [...new Set([...tags.values()].flat())].toSorted(), [tags]);
  const rows = useMemo(
    () =>
      sortRows(searchRows(all, { search: wanted, filter, tag, noted }), sort.by, sort.isDescending),
    [all, wanted, filter, tag, noted, sort],
  );
  const columns = useMemo(
    () => columnsOf(attacks.data !== null, tags.size > 0),
    [attacks.data, tags.size],
  );
  if (all.length === 0) {
    return <EmptyState icon={Network} title={text.empty.title} text={text.empty.text} />;
  }
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
        {known.length > 0 && (
          <Select
            aria-label={text.tag}
            placeholder={text.tag}
            data={known}
            value={tag}
            onChange={setTag}
            searchable
            clearable
            w={150}
          />
        )}
      </div>
      {rows.length === 0 ? (
        <EmptyState icon={SearchX} title={text.none.title} text={text.none.text} />
      ) : (
        <VirtualTable
          label={text.title}
          columns={columns}
          rows={rows}
          minWidth={tags.size > 0 ? 1020 : 880}
          sort={sort}
          keyOf={(row) => row.ip}
          onSort={(by) =>
            setSort({ by, isDescending: sort.by === by ? !sort.isDescending : by !== 'ip' })
          }
        />
      )}
      <div className="grid-foot" role="status">
        {text.shown(formatCount(rows.length), formatCount(all.length))}
      </div>
    </>
  );
}

function columnsOf(
  maySeeAttacks: boolean,
  hasTags: boolean,
): readonly Column<AddressRow, AddressSort>[] {
  return [
    {
      id: 'ip',
      title: text.columns.address,
      sort: 'ip',
      width: 'minmax(190px, 2fr)',
      cell: ({ ip }) => (
        <Link className="cell-link mono" to="/addresses/$ip" params={{ ip }}>
          {ip}
        </Link>
      ),
    },
    {
      id: 'state',
      title: text.columns.state,
      sort: 'attacks',
      width: 'minmax(140px, 1.2fr)',
      cell: (row) => <AttackState row={row} maySee={maySeeAttacks} />,
    },
    {
      id: 'peak',
      title: text.columns.peak,
      sort: 'peak',
      width: '120px',
      isNumber: true,
      cell: ({ peakText }) => (peakText === '' ? <span className="dim">–</span> : peakText),
    },
    {
      id: 'dropped',
      title: text.columns.dropped,
      sort: 'dropped',
      width: '120px',
      isNumber: true,
      cell: ({ dropped_packets: dropped, ip }) =>
        dropped === 0 ? (
          <span className="dim">–</span>
        ) : (
          <Link to="/addresses/$ip" params={{ ip }} search={{ tab: 'drops' }}>
            {formatCount(dropped)}
          </Link>
        ),
    },
    {
      id: 'service',
      title: text.columns.service,
      width: 'minmax(110px, 1fr)',
      cell: ({ service_id }) =>
        service_id === null ? <span className="dim">{text.prefix}</span> : `#${service_id}`,
    },
    ...(hasTags ? [TAGS] : []),
    {
      id: 'rules',
      title: text.columns.rules,
      sort: 'rules',
      width: '80px',
      isNumber: true,
      cell: (row) => formatCount(row.rules_count),
    },
    {
      id: 'filters',
      title: text.columns.filters,
      sort: 'filters',
      width: '80px',
      isNumber: true,
      cell: (row) => formatCount(row.filters_count),
    },
  ];
}

const MAX_TAGS = 2;

const TAGS: Column<AddressRow, AddressSort> = {
  id: 'tags',
  title: text.columns.tags,
  width: 'minmax(130px, 1.2fr)',
  cell: ({ tags }) => (
    <span title={tags.join(', ')}>
      {tags.slice(0, MAX_TAGS).map((each) => (
        <Pill key={each} tone="info" plain>
          {each}
        </Pill>
      ))}
      {tags.length > MAX_TAGS && (
        <span className="dim"> {text.moreTags(tags.length - MAX_TAGS)}</span>
      )}
    </span>
  ),
};

function AttackState({ row, maySee }: { readonly row: AddressRow; readonly maySee: boolean }) {
  if (!maySee) return <span className="dim">{text.attacksHidden}</span>;
  if (row.attackId === null) return <Pill tone="neutral">{text.quiet}</Pill>;
  if (row.ongoing > 0) {
    return (
      <Link to="/attacks/$attack" params={{ attack: row.attackId }}>
        <Pill tone="bad">{text.underAttack}</Pill>
      </Link>
    );
  }
  return (
    <Link to="/attacks" search={{ q: row.ip }}>
      <Pill tone="warn">{text.attackedToday(row.attacks)}</Pill>
    </Link>
  );
}
