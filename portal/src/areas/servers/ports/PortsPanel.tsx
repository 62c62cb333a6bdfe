import { useQuery } from '@tanstack/react-query';
import { type GameServerBuild, NotFoundError, PermissionError } from '@portcullis/client/index.ts';
import { Link } from '@tanstack/react-router';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { type AcceptedView, useAddress } from '../../addresses/queries.ts';
import { placeOf } from '../place.ts';
import { type PortState, portStateOf } from './port-state.ts';

const text = messages.server.ports;
const TONES: Readonly<Record<PortState['verdict'], Tone>> = {
  open: 'ok',
  some: 'warn',
  closed: 'bad',
};

interface Port {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
  readonly name: string | null;
}

/** The ports of a server, what the firewall does with them, and the filter that fits. */
export default function PortsPanel({ build }: { readonly build: GameServerBuild['data'] }) {
  return (
    <section className="card" aria-label={text.title}>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={text.title}>
        <table className="plain-table">
          <thead>
            <tr>
              {(['port', 'name', 'firewall', 'filter'] as const).map((column) => (
                <th key={column} scope="col">
                  {text.columns[column]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {portsOf(build).map((port) => (
              <Row key={`${placeOf(port)} ${port.protocol}`} port={port} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** A server without a list has its first port with the protocols of its game; both are shown. */
function portsOf({ allocation, allocations }: GameServerBuild['data']): Port[] {
  const all =
    allocations.length > 0
      ? allocations
      : [{ ...allocation, protocols: ['tcp', 'udp'], name: null }];
  return all.flatMap(({ ip, port, protocols, name }) =>
    (['tcp', 'udp'] as const)
      .filter((protocol) => protocols.includes(protocol))
      .map((protocol) => ({ ip, port, protocol, name })),
  );
}

function Row({ port }: { readonly port: Port }) {
  const address = useAddress(port.ip);
  return (
    <tr>
      <td className="mono">
        {placeOf(port)} <span className="dim">{port.protocol.toUpperCase()}</span>
      </td>
      <td>{port.name ?? <span className="dim">–</span>}</td>
      {address.data === undefined ? (
        <td colSpan={2} className="dim">
          {address.error === null ? messages.loading : wordsOf(address.error)}
        </td>
      ) : (
        <Firewall port={port} view={address.data} />
      )}
    </tr>
  );
}

function wordsOf(error: Error): string {
  if (error instanceof NotFoundError) return text.notHeld;
  return error instanceof PermissionError ? text.hidden : error.message;
}

function Firewall({ port, view }: { readonly port: Port; readonly view: AcceptedView }) {
  const { client } = useSession();
  const { ip } = port;
  const state = portStateOf(view.data, port.port, port.protocol);
  const catalogue = useQuery({
    queryKey: ['filters', ip],
    queryFn: ({ signal }) => client.listAvailableFilters({ ip }, { signal }),
  });
  const isAvailable = catalogue.data?.data.some(({ name }) => name === state.suggested);
  const link = (tab: 'rules' | 'filters', words: string) => (
    <Link to="/addresses/$ip" params={{ ip }} search={{ tab }}>
      {words}
    </Link>
  );
  return (
    <>
      <td>
        <span className="row">
          <Pill tone={TONES[state.verdict]}>{text.verdicts[state.verdict]}</Pill>
          {!state.isLive && (
            <Pill tone="warn" moving>
              {text.moving}
            </Pill>
          )}
          {link('rules', text.rules)}
        </span>
      </td>
      <td>
        <span className="row">
          {state.filters.join(', ')}
          {state.suggested !== null &&
            isAvailable !== undefined &&
            (isAvailable ? link('filters', text.suggested(state.suggested)) : text.managed)}
        </span>
      </td>
    </>
  );
}
