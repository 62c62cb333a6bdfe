import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { CrashPolicy, ServerLimits, ServerPort } from '@portcullis/core/game-servers/power.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import { followPorts } from '../firewall/named-ports/index.ts';
import type { Batch } from '../fleet/batch.ts';
import { lockNodes, settleOpenings } from '../game-servers/openings/index.ts';

/** An egg that was loaded from a file. */
export interface FoundEgg {
  readonly egg: Egg;
  /** SHA-256 of its canonical JSON, in hexadecimal. */
  readonly digest: string;
  /** Sentences about parts of the file that are ignored. */
  readonly notes: readonly string[];
}

export interface GameServerContent {
  /** In lower case. */
  readonly uuid: string;
  readonly serviceId: number;
  readonly name: string;
  readonly node: string;
  /** Its name in the fleet file or in the request. */
  readonly eggName: string;
  readonly egg: FoundEgg;
  readonly image: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: ServerLimits;
  /** Canonical. */
  readonly ip: string;
  readonly port: number;
  /** Ports as in `ServerAssignment`. */
  readonly ports: readonly ServerPort[];
  /** Its ports are allowed while it runs. */
  readonly openWhileRunning: boolean;
  /** Open ports: those of these names, sorted; null: all. */
  readonly openPorts: readonly string[] | null;
  readonly suspended: boolean;
  readonly crashes: CrashPolicy;
}

/** A server as it is stored. */
export interface CurrentGameServer
  extends Omit<GameServerContent, 'egg' | 'limits' | 'crashes'>,
    ServerLimits {
  readonly organisationId: number;
  /** Its slug. */
  readonly organisation: string;
  /** The id by which a billing system calls it. */
  readonly externalId: string | null;
  readonly eggDigest: string;
  /** Protocols of its ports, where none are listed. */
  readonly eggProtocols: readonly string[];
  readonly crashRestart: boolean;
  readonly crashWithinMs: number;
  /** Its node has installed it, so it has files. */
  readonly provisioned: boolean;
  readonly buildState: string;
  readonly buildReason: string | null;
  readonly owner: Owner;
}

export interface ServerSearch {
  readonly uuid?: string | undefined;
  readonly organisation?: string | undefined;
  readonly externalId?: string | undefined;
  readonly node?: string | undefined;
}

/** Servers by uuid; what is searched for must be equal. */
export async function loadGameServers(
  db: Db | Tx,
  { uuid, organisation, externalId, node }: ServerSearch = {},
): Promise<CurrentGameServer[]> {
  const { rows } = await sql<CurrentGameServer>`
    select s.uuid, s.organisation_id as "organisationId", o.slug as organisation, s.external_id as "externalId",
           s.service_id as "serviceId", s.name, n.name as node, s.egg_name as "eggName",
           s.egg_digest as "eggDigest", e.egg -> 'protocols' as "eggProtocols", s.image, s.variables,
           s.memory_mib as memory, s.cpu_percent as cpu, s.disk_mib as disk, host(s.ip) as ip, s.port, s.ports,
           s.open_while_running as "openWhileRunning", s.open_ports as "openPorts",
           s.suspended, s.crash_restart as "crashRestart", s.crash_within_ms as "crashWithinMs",
           s.provisioned, s.build_state as "buildState", s.build_reason as "buildReason", s.owner
      from game_servers s join nodes n on n.id = s.node_id join organisations o on o.id = s.organisation_id
      join eggs e on e.digest = s.egg_digest
     where (${uuid ?? null}::uuid is null or s.uuid = ${uuid ?? null}::uuid)
       and (${organisation ?? null}::text is null or o.slug = ${organisation ?? null}::text)
       and (${externalId ?? null}::text is null or s.external_id = ${externalId ?? null}::text)
       and (${node ?? null}::text is null or n.name = ${node ?? null}::text)
     order by s.uuid`.execute(db);
  return rows;
}

/** Creates a server of the side that writes, and its egg; its node then builds it. */
export async function createGameServer(
  batch: Batch,
  server: GameServerContent,
  organisationId: number,
): Promise<void> {
  const { uuid } = server;
  await lockNodes(batch.tx, [uuid]);
  await insertGameServer(batch, server, organisationId);
  await touchManaged(batch, uuid);
  await followPorts(batch, [uuid]);
  await settleOpenings(batch, [uuid]);
}

export interface ServerMove {
  /** To another node, which builds it again. */
  readonly rebuild: boolean;
  /** Its address, port or service changes. */
  readonly moved: boolean;
}

export async function changeGameServer(
  batch: Batch,
  server: GameServerContent,
  { rebuild, moved }: ServerMove,
): Promise<void> {
  const { uuid } = server;
  await lockNodes(batch.tx, [uuid]);
  if (moved) await touchManaged(batch, uuid);
  await updateGameServer(batch.tx, server, rebuild);
  if (moved) {
    await touchManaged(batch, uuid);
    await followPorts(batch, [uuid]);
  }
  await settleOpenings(batch, [uuid]);
}

export async function deleteGameServer(batch: Batch, uuid: string): Promise<void> {
  await lockNodes(batch.tx, [uuid]);
  await touchManaged(batch, uuid);
  await sql`delete from game_servers where uuid = ${uuid}`.execute(batch.tx);
  await followPorts(batch, [uuid]);
  await settleOpenings(batch, [uuid]);
}

/** Managed filters of service `s` that name ports of its servers. */
const NAMES_PORTS = sql`s.managed_filters @? '$[*] ? (@.ports like_regex ":")'`;

/** Managed filters apply to the ports of a service's game servers, so a server that moves changes its policies. */
async function touchManaged(batch: Batch, uuid: string): Promise<void> {
  const { rows } = await sql<{ cidr: string }>`
    select h.cidr from game_servers g
      join services s on s.id = g.service_id
      join holdings h on h.service_id = s.id
     where g.uuid = ${uuid} and (s.managed_filters @> '[{"ports": null}]' or ${NAMES_PORTS})`.execute(
    batch.tx,
  );
  if (rows.length > 0) batch.touch(...rows.map(({ cidr }) => cidr));
}

async function saveEgg(tx: Tx, { digest, egg }: FoundEgg): Promise<void> {
  await sql`
    insert into eggs (digest, egg) values (${digest}, ${JSON.stringify(egg)}::jsonb)
    on conflict do nothing`.execute(tx);
}

async function insertGameServer(
  { tx, owner }: Batch,
  server: GameServerContent,
  organisationId: number,
): Promise<void> {
  const { uuid, serviceId, name, node, eggName, egg, image, limits, ip, port } = server;
  await saveEgg(tx, egg);
  await sql`
    insert into game_servers (uuid, organisation_id, service_id, node_id, name, egg_digest, egg_name,
      image, variables, memory_mib, cpu_percent, disk_mib, ip, port, ports, open_while_running, open_ports,
      suspended, crash_restart, crash_within_ms, owner)
    select ${uuid}, ${organisationId}, ${serviceId}, nodes.id, ${name}, ${egg.digest}, ${eggName},
           ${image}, ${JSON.stringify(server.variables)}::jsonb, ${limits.memory}, ${limits.cpu},
           ${limits.disk}, ${ip}, ${port}, ${JSON.stringify(server.ports)}::jsonb, ${server.openWhileRunning},
           ${server.openPorts}::text[], ${server.suspended},
           ${server.crashes.restart}, ${server.crashes.withinMs}, ${owner}
      from nodes where nodes.name = ${node}`.execute(tx);
}

async function updateGameServer(
  tx: Tx,
  server: GameServerContent,
  rebuild: boolean,
): Promise<void> {
  const { uuid, serviceId, name, node, eggName, egg, image, limits, ip, port } = server;
  await saveEgg(tx, egg);
  await sql`
    update game_servers set service_id = ${serviceId}, node_id = nodes.id, name = ${name},
           egg_digest = ${egg.digest}, egg_name = ${eggName}, image = ${image},
           variables = ${JSON.stringify(server.variables)}::jsonb, memory_mib = ${limits.memory},
           cpu_percent = ${limits.cpu}, disk_mib = ${limits.disk}, ip = ${ip}, port = ${port},
           ports = ${JSON.stringify(server.ports)}::jsonb,
           open_while_running = ${server.openWhileRunning}, open_ports = ${server.openPorts}::text[],
           suspended = ${server.suspended}, crash_restart = ${server.crashes.restart},
           crash_within_ms = ${server.crashes.withinMs}
      from nodes where nodes.name = ${node} and game_servers.uuid = ${uuid}`.execute(tx);
  if (rebuild) await requestBuild(tx, uuid);
}

/** Makes its node install it again. It cannot be started until that is done. */
async function requestBuild(tx: Tx, uuid: string): Promise<void> {
  await sql`
    update game_servers set build_epoch = build_epoch + 1, build_state = 'waiting', build_reason = null,
           build_log = null, identifier = null
     where uuid = ${uuid}`.execute(tx);
}

/** Deletes eggs that no server uses. */
export async function sweepEggs(tx: Tx): Promise<void> {
  await sql`
    delete from eggs where not exists (select from game_servers where egg_digest = eggs.digest)`.execute(
    tx,
  );
}
