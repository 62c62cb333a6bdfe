import type { Attack } from '@portcullis/client/index.ts';
import { Link } from '@tanstack/react-router';
import type { Column } from '../../components/list/columns.ts';
import { Pill } from '../../components/Pill.tsx';
import { Time } from '../../components/Time.tsx';
import { formatDuration } from '../../format.ts';
import { messages } from '../../messages/index.ts';

const text = messages.attacks;

/** Seconds from the start to the first confirmed mitigation; null without one. */
function mitigatedAfter({ started_at, mitigated_at }: Attack): number | null {
  if (mitigated_at === null) return null;
  return Math.max(0, (Date.parse(mitigated_at) - Date.parse(started_at)) / 1000);
}

export const COLUMNS: readonly Column<Attack>[] = [
  {
    title: text.columns.type,
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, attack_type }) => (
      <Link className="cell-link" to="/attacks/$attack" params={{ attack: id }}>
        {messages.attackType(attack_type)}
      </Link>
    ),
  },
  {
    title: text.columns.address,
    width: 'minmax(150px, 1.6fr)',
    card: 'head',
    cell: ({ destination_ip: ip }) => (
      <Link className="cell-link mono" to="/addresses/$ip" params={{ ip }}>
        {ip}
      </Link>
    ),
  },
  {
    title: text.columns.state,
    width: '100px',
    card: 'end',
    cell: ({ status }) =>
      status === 'ongoing' ? (
        <Pill tone="bad">{text.ongoing}</Pill>
      ) : (
        <Pill tone="neutral">{text.ended}</Pill>
      ),
  },
  {
    title: text.columns.started,
    sortsFirst: 'descending',
    width: '110px',
    cell: ({ started_at }) => <Time at={started_at} />,
    sortBy: ({ started_at }) => Date.parse(started_at),
  },
  {
    title: text.columns.duration,
    width: '100px',
    isNumber: true,
    cell: ({ duration_seconds }) => formatDuration(Math.max(1, duration_seconds)),
    sortBy: ({ duration_seconds }) => duration_seconds,
  },
  {
    title: text.columns.bps,
    width: '110px',
    isNumber: true,
    cell: ({ peak_bps_formatted }) => peak_bps_formatted,
    sortBy: ({ peak_bps }) => peak_bps,
  },
  {
    title: text.columns.pps,
    width: '120px',
    isNumber: true,
    cell: ({ peak_pps_formatted }) => peak_pps_formatted,
    sortBy: ({ peak_pps }) => peak_pps,
  },
  {
    title: text.columns.mitigated,
    width: '120px',
    isNumber: true,
    cell: (attack) => {
      const seconds = mitigatedAfter(attack);
      if (seconds === null) return <span className="dim">{text.notMitigated}</span>;
      return seconds < 1 ? text.underSecond : formatDuration(seconds);
    },
    // What was never mitigated took longest.
    sortBy: (attack) => mitigatedAfter(attack) ?? Infinity,
  },
];
