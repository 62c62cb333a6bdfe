import { useQuery } from '@tanstack/react-query';
import { type GameServerBuild, NotFoundError, PermissionError } from '@portcullis/client/index.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import { Link } from '@tanstack/react-router';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { useOpenTo } from '../../addresses/queries.ts';
import { placeOf } from '../place.ts';
import { ManagePorts } from './ManagePorts.tsx';

const text = messages.server.ports;
const TONES: Readonly<Record<string, Tone>> = {
  everyone: 'ok',
  most: 'ok',
  some: 'warn',
  nobody: 'bad',
};

type Suggested = GameServerBuild['data']['suggested_filters'][number];

interface Port {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
  readonly name: string | null;
  /** The filter that fits its game. */
  readonly suggested: Suggested | undefined;
}

/** The ports of a server, what the firewall does with them, and the filter that fits. */
export default function PortsPanel({ build }: { readonly build: GameServerBuild['data'] }) {
  const { uuid, rights } = build;
  return (
    <div className="stack">
      {rights.includes('allocation.read') && <ManagePorts uuid={uuid} rights={rights} />}
      <ListPanel
        title={text.title}
        rows={portsOf(build)}
        columns={COLUMNS}
        keyOf={(port) => `${placeOf(port)} ${port.protocol}`}
        scrollLabel={text.title}
      />
    </div>
  );
}

const COLUMNS: readonly Column<Port>[] = [
  {
    title: text.columns.port,
    className: 'mono',
    cell: (port) => (
      <>
        {placeOf(port)} <span className="dim">{port.protocol.toUpperCase()}</span>
      </>
    ),
  },
  { title: text.columns.name, cell: ({ name }) => name ?? <span className="dim">–</span> },
  { title: text.columns.firewall, card: 'end', cell: (port) => <Firewall port={port} /> },
  { title: text.columns.filter, cell: (port) => <Filter port={port} /> },
];

/** A server without a list has its first port with the protocols of its game; both are shown. */
function portsOf({
  allocation,
  allocations,
  suggested_filters: suggested,
}: GameServerBuild['data']): Port[] {
  const all =
    allocations.length > 0
      ? allocations
      : [{ ...allocation, protocols: ['tcp', 'udp'], name: null }];
  return all.flatMap(({ ip, port, protocols, name }) =>
    (['tcp', 'udp'] as const)
      .filter((protocol) => protocols.includes(protocol))
      .map((protocol) => ({
        ip,
        port,
        protocol,
        name,
        suggested: suggested.find(
          (one) => one.ip === ip && one.port === port && one.protocol === protocol,
        ),
      })),
  );
}

/** The verdict as the service decides it, which asks the evaluator of the edges. */
function Firewall({ port }: { readonly port: Port }) {
  const { data: open, error } = useOpenTo(port);
  if (open === undefined) {
    return <span className="dim">{error === null ? messages.loading : wordsOf(error)}</span>;
  }
  return (
    <div>
      <span className="row">
        <Pill tone={TONES[open.to] ?? 'neutral'}>{text.openTo[open.to] ?? open.to}</Pill>
        {open.propagation === 'unenforced' && <Pill tone="neutral">{text.waiting}</Pill>}
        {open.propagation === 'pending' && (
          <Pill tone="warn" moving>
            {text.moving}
          </Pill>
        )}
        <Link to="/addresses/$ip" params={{ ip: port.ip }} search={{ tab: 'rules' }}>
          {text.rules}
        </Link>
      </span>
      <div className="dim">{open.explanation}</div>
    </div>
  );
}

function wordsOf(error: Error): string {
  if (error instanceof NotFoundError) return text.notHeld;
  return error instanceof PermissionError ? text.hidden : error.message;
}

function Filter({ port }: { readonly port: Port }) {
  const { ip, suggested } = port;
  const { client } = useSession();
  const open = useOpenTo(port).data;
  const catalogue = useQuery({
    queryKey: ['filters', ip],
    enabled: open !== undefined,
    queryFn: ({ signal }) => client.listAvailableFilters({ ip }, { signal }),
  });
  if (open === undefined) return null;
  const { filters } = open;
  const isMissing = suggested !== undefined && !filters.includes(suggested.type);
  const isAvailable = catalogue.data?.data.some(({ type }) => type === suggested?.type);
  return (
    <span className="row">
      {filters.map((type) => findFilter(type)?.name ?? type).join(', ')}
      {isMissing && filters.length === 0 && isAvailable === false && text.managed}
      {isMissing && isAvailable === true && (
        <Link to="/addresses/$ip" params={{ ip }} search={{ tab: 'filters' }}>
          {text.suggested(suggested.name)}
        </Link>
      )}
    </span>
  );
}
