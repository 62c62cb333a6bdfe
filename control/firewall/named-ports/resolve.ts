import { sql } from 'kysely';
import { withinReach } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import type { NamedPort } from '../objects.ts';
import { findPort, type NamedServer, serverOf } from './find.ts';

/** A named port with its present number. */
export interface ResolvedPort extends NamedPort {
  readonly port: number;
}

/** A name of a request, and where it stands there. */
export interface PortMention {
  readonly text: string;
  readonly pointer: string;
}

interface PortRow {
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
  const servers = await loadServers(tx, call, names, locked);
  return new Map(mentions.map((mention) => [mention.text, resolve(mention, call.ip, servers)]));
}

async function loadServers(
  tx: Db | Tx,
  { caller, ip }: Pick<Call, 'caller' | 'ip'>,
  names: readonly string[],
  locked: boolean,
): Promise<NamedServer<PortRow>[]> {
  const uuids = names.map((name) => name.toLowerCase());
  const servers = await sql<{ uuid: string; name: string }>`
    select uuid, name from game_servers
     where (name = any(${names}::text[]) or uuid::text = any(${uuids}::text[]))
       and ${withinReach(caller, 'game-servers.read')}
     order by uuid ${locked ? sql`for share` : sql``}`.execute(tx);
  // A statement of its own: it sees the ports as they are under the lock.
  const ports = await sql<PortRow & { uuid: string }>`
    select uuid, name, host(ip) as ip, port, reaches(${ip}::inet, ip, service_id) as here
      from named_ports where uuid = any(${servers.rows.map(({ uuid }) => uuid)}::uuid[])
     order by port, name`.execute(tx);
  const byServer = Map.groupBy(ports.rows, ({ uuid }) => uuid);
  return servers.rows.map((server) => ({ ...server, ports: byServer.get(server.uuid) ?? [] }));
}

function resolve(
  { text, pointer }: PortMention,
  address: string,
  servers: readonly NamedServer<PortRow>[],
): ResolvedPort {
  const found = findPort(text, servers);
  if (!found.ok) throw invalid(pointer, found.reason);
  const { here, ip, name, port } = found.port;
  if (!here) {
    throw invalid(pointer, `the port ${text} is at ${ip}, which ${address} does not lead to`);
  }
  return { server: found.server, name, port };
}

function invalid(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail }];
  return new Problem('invalid_request', `The named port is not valid: ${detail}.`, { errors });
}
