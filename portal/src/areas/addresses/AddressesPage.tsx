import { SegmentedControl, Select } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Network } from 'lucide-react';
import { lazy, Suspense, useDeferredValue, useMemo, useState } from 'react';
import type { Column } from '../../components/list/columns.ts';
import { Facts } from '../../components/figures/Facts.tsx';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { SearchField } from '../../components/list/SearchField.tsx';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { useAttacksOfDay } from '../attacks/queries.ts';
import { type AddressFilter, type AddressRow, rowsOf, searchRows } from './address-rows.ts';
import { useFoundByNote, useTags } from './notes/queries.ts';
import { type Addresses, useAddresses } from './queries.ts';

const text = messages.addresses;
const FILTERS = (['all', 'attacked', 'configured', 'bare'] as const).map((value) => ({
  value,
  label: text.filters[value],
}));

const EnforceCommand = lazy(() => import('../../components/EnforceCommand.tsx'));

export function AddressesPage() {
  const addresses = useAddresses();
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      {addresses.data !== undefined && <HeldFacts held={addresses.data} />}
      <AddressList query={addresses} />
    </>
  );
}

function HeldFacts({ held }: { readonly held: Addresses }) {
  const { liveGeneration: live, acceptedGeneration: accepted, enforcement } = held;
  const { used, limit } = held.configured;
  return (
    <>
      {enforcement === 'none' && (
        <Notice kind="info">
          {text.notEnforced}{' '}
          <Suspense>
            <EnforceCommand />
          </Suspense>
        </Notice>
      )}
      {enforcement === 'partial' && <Notice kind="warn">{text.partlyEnforced}</Notice>}
      <Facts
        facts={[
          { name: text.facts.addresses, value: formatCount(held.addresses.length) },
          { name: text.facts.prefixes, value: formatCount(held.prefixes.length) },
          {
            name: text.facts.configured,
            value: formatCount(used),
            hint: text.facts.of(formatCount(limit)),
          },
          { name: text.facts.changes, value: <Changes live={live} accepted={accepted} /> },
        ]}
      />
    </>
  );
}

interface Progress {
  /** Null: no edge enforces. */
  readonly live: number | null;
  readonly accepted: number | null;
}

function Changes({ live, accepted }: Progress) {
  if (live === null) return <Pill tone="neutral">{text.facts.waiting}</Pill>;
  if (accepted !== null && live >= accepted) return <Pill tone="ok">{text.facts.allLive}</Pill>;
  return (
    <Pill tone="warn" moving>
      {text.facts.propagating}
    </Pill>
  );
}

function AddressList({ query }: { readonly query: ReturnType<typeof useAddresses> }) {
  const attacks = useAttacksOfDay();
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<AddressFilter>('all');
  const wanted = useDeferredValue(search);
  const [tag, setTag] = useState<string | null>(null);
  const tags = useTags();
  const noted = useFoundByNote(search);
  const held = query.data?.addresses;
  const all = useMemo(
    () => rowsOf(held ?? [], attacks.data ?? [], tags),
    [held, attacks.data, tags],
  );
  const known = useMemo(() => [...new Set([...tags.values()].flat())].toSorted(), [tags]);
  const rows = useMemo(
    () => searchRows(all, { search: wanted, filter, tag, noted }),
    [all, wanted, filter, tag, noted],
  );
  const columns = useMemo(
    () => columnsOf(attacks.data !== null, tags.size > 0),
    [attacks.data, tags.size],
  );
  return (
    <ListPanel
      title={text.title}
      query={query}
      rows={held && rows}
      total={all.length}
      waitingRows={10}
      hidesEmptyTools
      filter={
        <>
          <SearchField label={text.search} value={search} onChange={setSearch} />
          <SegmentedControl
            aria-label={text.filter}
            data={FILTERS}
            value={filter}
            onChange={setFilter}
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
        </>
      }
      empty={{ icon: Network, ...text.empty }}
      none={text.none}
      columns={columns}
      minWidth={tags.size > 0 ? 1020 : 880}
      keyOf={({ ip }) => ip}
      foot={(shown, total) => text.shown(shown, total)}
    />
  );
}

function columnsOf(maySeeAttacks: boolean, hasTags: boolean): readonly Column<AddressRow>[] {
  return [
    {
      title: text.columns.address,
      width: 'minmax(190px, 2fr)',
      sortsFirst: 'ascending',
      cell: ({ ip }) => (
        <Link className="cell-link mono" to="/addresses/$ip" params={{ ip }}>
          {ip}
        </Link>
      ),
      sortBy: ({ index }) => index,
    },
    {
      title: text.columns.state,
      width: 'minmax(140px, 1.2fr)',
      card: 'end',
      cell: (row) => <AttackState row={row} maySee={maySeeAttacks} />,
      // Those under attack before those that were.
      sortBy: (row) => row.ongoing * 1e6 + row.attacks,
    },
    {
      title: text.columns.peak,
      width: '120px',
      isNumber: true,
      cell: ({ peakText }) => (peakText === '' ? <span className="dim">–</span> : peakText),
      sortBy: (row) => row.peakBps,
    },
    {
      title: text.columns.dropped,
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
      sortBy: (row) => row.dropped_packets,
    },
    {
      title: text.columns.service,
      width: 'minmax(110px, 1fr)',
      cell: ({ service_id: id, service_name: name }) =>
        id === null ? <span className="dim">{text.prefix}</span> : (name ?? `#${id}`),
    },
    ...(hasTags ? [TAGS] : []),
    {
      title: text.columns.rules,
      width: '80px',
      isNumber: true,
      cell: (row) => formatCount(row.rules_count),
      sortBy: (row) => row.rules_count,
    },
    {
      title: text.columns.filters,
      width: '80px',
      isNumber: true,
      cell: (row) => formatCount(row.filters_count),
      sortBy: (row) => row.filters_count,
    },
  ];
}

const MAX_TAGS = 2;

const TAGS: Column<AddressRow> = {
  title: text.columns.tags,
  width: 'minmax(130px, 1.2fr)',
  cell: ({ tags }) =>
    tags.length > 0 && (
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
