import type { Attack } from '@portcullis/client/index.ts';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Pill } from '../../components/Pill.tsx';
import { Time } from '../../components/Time.tsx';
import { type Column, type SortState, VirtualTable } from '../../components/VirtualTable.tsx';
import { formatDuration } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { type AttackSort, mitigatedAfter, sortAttacks } from './attack-rows.ts';

const text = messages.attacks;

export function AttackTable({ attacks }: { readonly attacks: readonly Attack[] }) {
  const [sort, setSort] = useState<SortState<AttackSort>>({ by: 'started', isDescending: true });
  const rows = useMemo(() => sortAttacks(attacks, sort.by, sort.isDescending), [attacks, sort]);
  return (
    <VirtualTable
      label={text.title}
      columns={COLUMNS}
      rows={rows}
      minWidth={980}
      sort={sort}
      keyOf={({ id }) => id}
      onSort={(by) => setSort({ by, isDescending: sort.by === by ? !sort.isDescending : true })}
    />
  );
}

const COLUMNS: readonly Column<Attack, AttackSort>[] = [
  {
    id: 'type',
    title: text.columns.type,
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, attack_type }) => (
      <Link className="cell-link" to="/attacks/$attack" params={{ attack: id }}>
        {messages.attackType(attack_type)}
      </Link>
    ),
  },
  {
    id: 'address',
    title: text.columns.address,
    width: 'minmax(150px, 1.6fr)',
    cell: ({ destination_ip: ip }) => (
      <Link className="cell-link mono" to="/addresses/$ip" params={{ ip }}>
        {ip}
      </Link>
    ),
  },
  {
    id: 'state',
    title: text.columns.state,
    width: '100px',
    cell: ({ status }) =>
      status === 'ongoing' ? (
        <Pill tone="bad">{text.ongoing}</Pill>
      ) : (
        <Pill tone="neutral">{text.ended}</Pill>
      ),
  },
  {
    id: 'started',
    title: text.columns.started,
    sort: 'started',
    width: '110px',
    cell: ({ started_at }) => <Time at={started_at} />,
  },
  {
    id: 'duration',
    title: text.columns.duration,
    sort: 'duration',
    width: '100px',
    isNumber: true,
    cell: ({ duration_seconds }) => formatDuration(Math.max(1, duration_seconds)),
  },
  {
    id: 'bps',
    title: text.columns.bps,
    sort: 'bps',
    width: '110px',
    isNumber: true,
    cell: ({ peak_bps_formatted }) => peak_bps_formatted,
  },
  {
    id: 'pps',
    title: text.columns.pps,
    sort: 'pps',
    width: '120px',
    isNumber: true,
    cell: ({ peak_pps_formatted }) => peak_pps_formatted,
  },
  {
    id: 'mitigated',
    title: text.columns.mitigated,
    sort: 'mitigated',
    width: '120px',
    isNumber: true,
    cell: (attack) => {
      const seconds = mitigatedAfter(attack);
      if (seconds === null) return <span className="dim">{text.notMitigated}</span>;
      return seconds < 1 ? text.underSecond : formatDuration(seconds);
    },
  },
];
