import { sql } from 'kysely';
import { withinReach } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import type { NamedPort } from '../objects.ts';

/** A named port with its present number. */
export interface ResolvedPort extends NamedPort {
  readonly port: number;
}

/** A name of a request, and where it stands there. */
export interface PortMention {
  readonly text: string;
  readonly pointer: string;
}

interface ServerRow {
  readonly uuid: string;
  readonly name: string;
}
interface PortRow {
  readonly uuid: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  /** Packets to the address of the call arrive there. */
  readonly here: boolean;
}

/**
 * Looks up names of ports at the address of the call; throws 422 for one that is not there. `locked` keeps the servers
 * from changing before the transaction ends, so that what it writes is followed.
 */
export async function resolvePorts(
  tx: Db | Tx,
  call: Pick<Call, 'caller' | 'ip'>,
  mentions: readonly PortMention[],
  { locked }: { readonly locked: boolean },
): Promise<ReadonlyMap<string, ResolvedPort>> {
  if (mentions.length === 0) return new Map();
  const names = [...new Set(mentions.map(({ text }) => serverOf(text)))];
  const { rows: servers } = await sql<ServerRow>`
    select uuid, name from game_servers
     where (name = any(${names}::text[]) or uuid::text = any(${names.map((name) => name.toLowerCase())}::text[]))
       and ${withinReach(call.caller, 'game-servers.read')}
     order by uuid ${locked ? sql`for share` : sql``}`.execute(tx);
  const { rows: ports } = await sql<PortRow>`
    select uuid, name, host(ip) as ip, port, reaches(${call.ip}::inet, ip, service_id) as here
      from named_ports where uuid = any(${servers.map(({ uuid }) => uuid)}::uuid[]) order by port`.execute(
    tx,
  );
  const found = new Map<string, ResolvedPort>();
  for (const mention of mentions) {
    found.set(mention.text, resolve(mention, call.ip, servers, ports));
  }
  return found;
}

function resolve(
  { text, pointer }: PortMention,
  address: string,
  servers: readonly ServerRow[],
  ports: readonly PortRow[],
): ResolvedPort {
  const wanted = serverOf(text);
  const byUuid = servers.filter(({ uuid }) => uuid === wanted.toLowerCase());
  const matches = byUuid.length > 0 ? byUuid : servers.filter(({ name }) => name === wanted);
  const [server, another] = matches;
  if (server === undefined) throw unknown(pointer, `there is no game server "${wanted}"`);
  if (another !== undefined) {
    const uuids = matches.map(({ uuid }) => uuid).join(', ');
    throw unknown(
      pointer,
      `several game servers are called "${wanted}": write its uuid (${uuids})`,
    );
  }
  const all = ports.filter(({ uuid }) => uuid === server.uuid);
  const portName = text.slice(wanted.length + 1);
  const port = all.find(({ name }) => name === portName);
  if (port === undefined) {
    const known = all.map(({ name }) => name).join(', ');
    throw unknown(pointer, `${server.name} has no port "${portName}"; it has ${known}`);
  }
  if (!port.here) {
    throw unknown(pointer, `the port ${text} is at ${port.ip}, which ${address} does not lead to`);
  }
  return { server: server.uuid, name: port.name, port: port.port };
}

/** The name of a server may have colons, that of a port has none. */
function serverOf(text: string): string {
  return text.slice(0, text.lastIndexOf(':'));
}

function unknown(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail }];
  return new Problem('invalid_request', `The named port is not valid: ${detail}.`, { errors });
}
