import { Link } from '@tanstack/react-router';
import { Pill } from '../../components/Pill.tsx';
import { Time } from '../../components/Time.tsx';
import type { Column } from '../../components/VirtualTable.tsx';
import { messages } from '../../messages/index.ts';
import { placeOf } from './place.ts';
import type { ServerRow, ServerSort } from './server-rows.ts';
import { StatePill } from './StatePill.tsx';

const text = messages.servers;

export const COLUMNS: readonly Column<ServerRow, ServerSort>[] = [
  {
    id: 'name',
    title: text.columns.name,
    sort: 'name',
    width: 'minmax(180px, 2fr)',
    cell: ({ uuid, name }) => (
      <Link className="cell-link" to="/servers/$uuid" params={{ uuid }}>
        {name}
      </Link>
    ),
  },
  {
    id: 'state',
    title: text.columns.state,
    sort: 'state',
    width: 'minmax(200px, 1.6fr)',
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
  },
  {
    id: 'address',
    title: text.columns.address,
    width: 'minmax(170px, 1.4fr)',
    cell: ({ allocation }) => <span className="mono">{placeOf(allocation)}</span>,
  },
  {
    id: 'attacks',
    title: text.columns.attacks,
    width: '120px',
    cell: ({ attacks }) =>
      attacks > 0 ? (
        <Pill tone="bad">{text.underAttack}</Pill>
      ) : (
        <span className="dim">{text.quiet}</span>
      ),
  },
  {
    id: 'service',
    title: text.columns.service,
    sort: 'service',
    width: 'minmax(110px, 1fr)',
    cell: ({ service_name: name }) => name,
  },
  {
    id: 'node',
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
