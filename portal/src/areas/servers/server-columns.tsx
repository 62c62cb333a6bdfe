import { Link } from '@tanstack/react-router';
import type { Column } from '../../components/list/columns.ts';
import { Pill } from '../../components/Pill.tsx';
import { Time } from '../../components/Time.tsx';
import { messages } from '../../messages/index.ts';
import { placeOf } from './place.ts';
import type { ServerRow } from './server-rows.ts';
import { StatePill } from './StatePill.tsx';

const text = messages.servers;

export const COLUMNS: readonly Column<ServerRow>[] = [
  {
    title: text.columns.name,
    sortsFirst: 'ascending',
    width: 'minmax(180px, 2fr)',
    cell: ({ uuid, name }) => (
      <Link className="cell-link" to="/servers/$uuid" params={{ uuid }}>
        {name}
      </Link>
    ),
    sortBy: ({ name }) => name,
  },
  {
    title: text.columns.state,
    width: 'minmax(200px, 1.6fr)',
    card: 'end',
    cell: (row) => (
      <span className="row">
        <StatePill {...row} />
        {row.suspended && <Pill tone="warn">{text.suspended}</Pill>}
        {row.crashed_at !== null && (
          <span className="dim">
            {text.crashed} <Time at={row.crashed_at} />
          </span>
        )}
      </span>
    ),
    sortBy: ({ state }) => state ?? '',
  },
  {
    title: text.columns.address,
    width: 'minmax(170px, 1.4fr)',
    cell: ({ allocation }) => <span className="mono">{placeOf(allocation)}</span>,
  },
  {
    title: text.columns.attacks,
    width: '120px',
    cell: ({ attacks }) =>
      attacks !== null && attacks > 0 ? (
        <Pill tone="bad">{text.underAttack}</Pill>
      ) : (
        <span className="dim">{attacks === null ? text.attacksUnknown : text.quiet}</span>
      ),
  },
  {
    title: text.columns.service,
    width: 'minmax(110px, 1fr)',
    cell: ({ service_name: name }) => name,
    sortBy: ({ service_name: name }) => name,
  },
  {
    title: text.columns.node,
    width: 'minmax(110px, 1fr)',
    cell: ({ node, node_connected: isHere }) => (
      <span className="row">
        {node}
        {!isHere && <Pill tone="bad">{text.nodeAway}</Pill>}
      </span>
    ),
  },
];
