import { sql } from 'kysely';
import { isPortName, parsePortName } from '@portcullis/core/firewall/rules/entry.ts';
import { withinReach } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import type { AddressCall, CallerCall } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import type { NamedPort, RuleContent } from '@portcullis/core/firewall/rules/content.ts';

/** A server with the names of its ports. */
export interface NamedServer<Port extends { readonly name: string }> {
  readonly uuid: string;
  readonly name: string;
  readonly ports: readonly Port[];
}

function serverOf(text: string): string {
  return parsePortName(text)?.server ?? '';
}

export type FoundPort<Port> =
  | { readonly ok: true; readonly server: string; readonly port: Port }
  | { readonly ok: false; readonly reason: string };

/** Finds the port that `SERVER:PORT` names: the server by its uuid or its name. */
export function findPort<Port extends { readonly name: string }>(
  text: string,
  servers: readonly NamedServer<Port>[],
): FoundPort<Port> {
  const wanted = serverOf(text);
  const byUuid = servers.filter(({ uuid }) => uuid === wanted.toLowerCase());
  const matches = byUuid.length > 0 ? byUuid : servers.filter(({ name }) => name === wanted);
  const [server, another] = matches;
  if (server === undefined) return failed(`there is no game server "${wanted}"`);
  if (another !== undefined) {
    const uuids = matches.map(({ uuid }) => uuid).join(', ');
    return failed(`several game servers are called "${wanted}": write its uuid (${uuids})`);
  }
  const portName = text.slice(wanted.length + 1);
  const port = server.ports.find(({ name }) => name === portName);
  if (port !== undefined) return { ok: true, server: server.uuid, port };
  const known = server.ports.map(({ name }) => name).join(', ');
  return failed(`${server.name} has no port "${portName}"; it has ${known}`);
}

function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/**
 * The port of a rule in a request: by number, or by name in either member. What was read has the name beside the number
 * that it had then, so the name applies.
 */
export function portOf(rule: {
  readonly destination_port?: string | number | null;
  readonly named_port?: string | null;
}): {
  readonly destination_port: string | null;
  readonly named_port: string | null;
  /** The member that had the name. */
  readonly namedBy?: 'destination_port';
} {
  const { destination_port: port = null, named_port: name = null } = rule;
  if (name !== null) return { destination_port: null, named_port: name };
  const text = port === null ? null : String(port);
  return text !== null && isPortName(text)
    ? { destination_port: null, named_port: text, namedBy: 'destination_port' }
    : { destination_port: text, named_port: null };
}

/** A named port with its present number. */
export interface ResolvedPort extends NamedPort {
  readonly port: number;
}

/** A name of a port in a request, and its position there. */
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
 * Keeps the servers of named ports from changing before the transaction ends, so that what it writes is followed. Before
 * the address is locked, as a change of a server locks it after.
 */
export async function lockNamedServers(
  tx: Tx,
  { by: caller }: Pick<CallerCall, 'by'>,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const { rows } = await serversNamed(caller, names.map(serverOf)).execute(tx);
  await lockServers(tx, rows);
}

/** The same for all that rules at an address ever named. */
export async function lockServersNamedAt(
  tx: Tx,
  { by: caller, params: { ip } }: Pick<AddressCall, 'by' | 'params'>,
): Promise<void> {
  const { rows } = await sql<{ uuid: string }>`
    select distinct g.uuid from game_servers g join rules r on r.port_server = g.uuid
      join addresses a on a.id = r.address_id
     where a.ip = ${ip}::inet and g.organisation_id = ${caller.organisationId}`.execute(tx);
  await lockServers(tx, rows);
}

async function lockServers(tx: Tx, servers: readonly { readonly uuid: string }[]): Promise<void> {
  const uuids = servers.map(({ uuid }) => uuid);
  await lockRows(tx, 'game_servers', uuids, 'share');
}

/** Looks up names of ports at the address of the call; throws 422 for one that is not there. */
export async function resolvePorts(
  tx: Db | Tx,
  call: Pick<AddressCall, 'by' | 'params'>,
  mentions: readonly PortMention[],
): Promise<ReadonlyMap<string, ResolvedPort>> {
  if (mentions.length === 0) return new Map();
  const servers = await loadServers(
    tx,
    call,
    mentions.map(({ text }) => serverOf(text)),
  );
  return new Map(
    mentions.map((mention) => [mention.text, resolve(mention, call.params.ip, servers)]),
  );
}

async function loadServers(
  tx: Db | Tx,
  { by: caller, params: { ip } }: Pick<AddressCall, 'by' | 'params'>,
  names: readonly string[],
): Promise<NamedServer<PortRow>[]> {
  const servers = await serversNamed(caller, names).execute(tx);
  const ports = await sql<PortRow & { uuid: string }>`
    select uuid, name, host(ip) as ip, port, reaches(${ip}::inet, ip, service_id) as here
      from named_ports where uuid = any(${servers.rows.map(({ uuid }) => uuid)}::uuid[])
     order by port, name`.execute(tx);
  const byServer = Map.groupBy(ports.rows, ({ uuid }) => uuid);
  return servers.rows.map((server) => ({ ...server, ports: byServer.get(server.uuid) ?? [] }));
}

function serversNamed(caller: CallerCall['by'], names: readonly string[]) {
  const wanted = [...new Set(names)];
  const uuids = wanted.map((name) => name.toLowerCase());
  return sql<{ uuid: string; name: string }>`
    select uuid, name from game_servers
     where (name = any(${wanted}::text[]) or uuid::text = any(${uuids}::text[]))
       and ${withinReach(caller)}
     order by uuid`;
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
  return { server: found.server, name, port, shown: text };
}

function invalid(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail }];
  return new Problem('invalid_request', `The named port is not valid: ${detail}.`, { errors });
}

/**
 * Rules of the past of an address with the present numbers of the ports that they name. Where the port is gone, the
 * number of then stays, and nothing to follow. Needs the servers' locks (`lockServersNamedAt`).
 */
export async function renumber<T extends RuleContent>(
  tx: Tx,
  { organisationId, ip }: { readonly organisationId: number; readonly ip: string },
  rules: readonly T[],
): Promise<T[]> {
  const servers = [...new Set(rules.flatMap(({ namedPort }) => namedPort?.server ?? []))];
  if (servers.length === 0) return [...rules];
  const { rows } = await sql<{ server: string; name: string; port: number }>`
    select uuid as server, name, port from named_ports
     where uuid = any(${servers}::uuid[]) and organisation_id = ${organisationId}
       and reaches(${ip}::inet, ip, service_id)`.execute(tx);
  const ports = new Map(rows.map(({ server, name, port }) => [`${server}:${name}`, port]));
  return rules.map((rule) => {
    if (rule.namedPort === null || rule.namedPort === undefined) return rule;
    const port = ports.get(`${rule.namedPort.server}:${rule.namedPort.name}`);
    return port === undefined ? { ...rule, namedPort: null } : { ...rule, port };
  });
}
