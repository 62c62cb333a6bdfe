import { type RawBuilder, sql } from 'kysely';
import type {
  EmptyFiles,
  ServerAssignment,
  ServerLimits,
  ServerMount,
  ServerPort,
  ServerResources,
  StartWithHost,
} from '@portcullis/core/game-servers/power.ts';
import {
  MAX_PURGED,
  type NodeHeartbeat,
  type ServerBuild,
} from '@portcullis/link/messages/node.ts';
import type { BuildState } from '../../db/schema.ts';
import type { Db, Reader, Tx } from '../../db/database.ts';
import { lockClause, noteLock } from '../../db/locks.ts';
import { LIMITS } from '../limits.ts';
import { firstPortOf, portsOf } from '../ports/columns.ts';
import { OPENS_PORTS, settleReported, type SettledPorts } from '../openings/settle.ts';

/**
 * All SQL by which nodes read or change servers, and the only place that isolates nodes: every statement takes the id
 * of the node that the transport authenticated, never one from a message.
 */
export interface NodeRow {
  readonly id: number;
  readonly name: string;
  readonly instance: string | null;
}

export async function loadNode(db: Db | Tx, name: string): Promise<NodeRow | null> {
  const { rows } = await sql<NodeRow>`
    select id, name, instance from nodes where name = ${name}`.execute(db);
  return rows[0] ?? null;
}

/** The instance of the last hello speaks for the node. False if the fleet has no such node. */
export async function recordHello(db: Db, name: string, instance: string): Promise<boolean> {
  const { rows } = await sql`
    update nodes set instance = ${instance}, last_seen_at = clock_timestamp()
     where name = ${name} returning 1`.execute(db);
  return rows.length > 0;
}

export interface ChangedBuild {
  readonly uuid: string;
  readonly name: string;
  readonly state: BuildState;
  readonly reason: string | null;
}
export type RecordedHeartbeat =
  | { readonly kind: 'unknown' | 'resync' }
  | {
      readonly kind: 'recorded';
      readonly changed: readonly ChangedBuild[];
      /** Ports that were opened or closed. */
      readonly ports: SettledPorts;
    };

export interface Heartbeat extends Omit<NodeHeartbeat, 'kind'> {
  /** The name of the node. */
  readonly name: string;
}

/** Stores the reported builds of a node. */
export async function recordHeartbeat(db: Db, beat: Heartbeat): Promise<RecordedHeartbeat> {
  return db.transaction().execute(async (tx): Promise<RecordedHeartbeat> => {
    noteLock(tx, 'nodes', 'no key update');
    const { rows } = await sql<NodeRow>`
      select id, name, instance from nodes where name = ${beat.name} ${lockClause('no key update')}`.execute(
      tx,
    );
    const node = rows[0];
    if (node === undefined) return { kind: 'unknown' };
    if (node.instance !== beat.instance) return { kind: 'resync' };
    const [engine, sftp] = [beat.engine, beat.sftp].map((one) => JSON.stringify(one));
    await sql`
      update nodes set last_seen_at = clock_timestamp(), lost_at = null, engine = ${engine}::jsonb,
             sftp = nullif(${sftp}::jsonb, 'null')
       where id = ${node.id}`.execute(tx);
    await recordPurged(tx, node.id, beat.purged);
    const isEmpty = beat.builds.length === 0;
    await forgetUnnamed(tx, node.id, beat.builds);
    await recordSamples(tx, node.id, beat.builds);
    return {
      kind: 'recorded',
      changed: isEmpty ? [] : await recordBuilds(tx, node.id, beat.builds),
      // Last, because it takes a generation.
      ports: await settleReported(tx, node),
    };
  });
}

/**
 * Only for the present epoch, and never back from built: a delayed heartbeat or a rebuild after a lost journal does not
 * make a server unprovisioned.
 */
async function recordBuilds(
  tx: Tx,
  nodeId: number,
  builds: readonly ServerBuild[],
): Promise<ChangedBuild[]> {
  await sql`
    update game_servers set power_state = reported.power, crashed_at_ms = reported.crashed
      from unnest(${builds.map((b) => b.uuid)}::uuid[], ${builds.map((b) => b.epoch)}::integer[],
                  ${builds.map((b) => b.power)}::text[], ${builds.map((b) => b.crashedAtMs)}::double precision[])
           as reported (uuid, epoch, power, crashed)
     where game_servers.uuid = reported.uuid and game_servers.node_id = ${nodeId}
       and game_servers.build_epoch = reported.epoch
       and (power_state, crashed_at_ms) is distinct from (reported.power, reported.crashed)`.execute(
    tx,
  );
  const { rows } = await sql<ChangedBuild>`
    update game_servers set build_state = reported.state, build_reason = reported.reason,
           build_log = coalesce(reported.log, build_log),
           identifier = case when reported.state = 'built' then left(reported.uuid::text, 8) end,
           empty_files = case when reported.state <> 'built' then empty_files end
      from unnest(${builds.map((b) => b.uuid)}::uuid[], ${builds.map((b) => b.epoch)}::integer[],
                  ${builds.map((b) => b.state)}::text[], ${builds.map((b) => b.reason)}::text[],
                  ${builds.map((b) => b.log)}::text[]) as reported (uuid, epoch, state, reason, log)
     where game_servers.uuid = reported.uuid and game_servers.node_id = ${nodeId}
       and game_servers.build_epoch = reported.epoch and game_servers.build_state <> 'built'
       and (build_state, build_reason, build_log) is distinct from
           (reported.state, reported.reason, coalesce(reported.log, build_log))
    returning game_servers.uuid, game_servers.name, build_state as state, build_reason as reason`.execute(
    tx,
  );
  return rows;
}

/** A heartbeat names every server of its node. One that it does not name is in no known state. */
async function forgetUnnamed(
  tx: Tx,
  nodeId: number,
  builds: readonly ServerBuild[],
): Promise<void> {
  await sql`
    update game_servers set power_state = null
     where node_id = ${nodeId} and ${OPENS_PORTS} and power_state is not null
       and uuid <> all(${builds.map((b) => b.uuid)}::uuid[])`.execute(tx);
}

/** The first report of each minute, by the clock of the database, so that no node can store more. */
async function recordSamples(
  tx: Tx,
  nodeId: number,
  builds: readonly ServerBuild[],
): Promise<void> {
  const samples = builds.flatMap(({ uuid, resources }) => (resources ? [{ uuid, resources }] : []));
  if (samples.length === 0) return;
  const column = (of: (used: ServerResources) => number) =>
    samples.map(({ resources }) => of(resources));
  await sql`
    insert into server_samples
      (uuid, minute, memory_bytes, cpu_absolute, disk_bytes, network_rx_bytes, network_tx_bytes)
    select reported.uuid, date_trunc('minute', now()), memory, cpu, disk, rx, tx
      from unnest(${samples.map(({ uuid }) => uuid)}::uuid[],
                  ${column((used) => used.memoryBytes)}::bigint[],
                  ${column((used) => Math.max(0, used.cpuAbsolute))}::double precision[],
                  ${column((used) => used.diskBytes)}::bigint[],
                  ${column((used) => used.networkRxBytes)}::bigint[],
                  ${column((used) => used.networkTxBytes)}::bigint[]) as reported (uuid, memory, cpu, disk, rx, tx)
      join game_servers on game_servers.uuid = reported.uuid and game_servers.node_id = ${nodeId}
        on conflict do nothing`.execute(tx);
}

/** Deleted servers whose files the node has to purge by now. */
export async function loadPurge(db: Db | Tx, nodeId: number): Promise<string[]> {
  const { rows } = await sql<{ uuid: string }>`
    select uuid from deleted_servers where node_id = ${nodeId} and purge_at <= now()
     order by purge_at, uuid limit ${MAX_PURGED}`.execute(db);
  return rows.map(({ uuid }) => uuid);
}

/** Forgets deleted servers whose files are gone. A node cannot end the time for which others are kept. */
async function recordPurged(tx: Tx, nodeId: number, purged: readonly string[]): Promise<void> {
  if (purged.length === 0) return;
  await sql`
    delete from deleted_servers
     where node_id = ${nodeId} and uuid = any(${purged}::uuid[]) and purge_at <= now()`.execute(tx);
}

interface AssignmentRow {
  readonly uuid: string;
  readonly organisation: string;
  readonly name: string;
  readonly egg: string;
  readonly image: string | null;
  readonly variables: Record<string, string>;
  readonly limits: ServerLimits;
  readonly ip: string;
  readonly port: number;
  readonly ports: readonly ServerPort[];
  readonly suspended: boolean;
  readonly restart: boolean;
  readonly withinMs: number;
  readonly tries: number;
  readonly startWithHost: StartWithHost;
  readonly stopSeconds: number | null;
  readonly buildEpoch: number;
  readonly dockerImage: string | null;
  readonly startup: string | null;
  readonly mounts: readonly ServerMount[];
  readonly isRestored: boolean;
  readonly emptyFiles: EmptyFiles | null;
}

/** The mounts of server `s` as its node `n` declares them. One that the node has no more is left out. */
const MOUNTS = sql`(
  select coalesce(jsonb_agg(jsonb_build_object('source', m ->> 'source', 'target', m ->> 'target',
                                               'readOnly', m -> 'read_only') order by m ->> 'name'), '[]')
    from jsonb_array_elements(n.mounts) m where m ->> 'name' = any(s.mounts))`;

const FIRST = firstPortOf('s');

/** Every server of a node, by uuid. */
export function loadAssignments(db: Db | Tx, nodeId: number): Promise<ServerAssignment[]> {
  return loadAssigned(db, sql`s.node_id = ${nodeId}`);
}

/** One server as its node must run it; for what is said of it. Null if there is none. */
export async function loadAssignment(
  db: Reader | Tx,
  uuid: string,
): Promise<ServerAssignment | null> {
  const [found = null] = await loadAssigned(db, sql`s.uuid = ${uuid}`);
  return found;
}

async function loadAssigned(
  db: Db | Reader | Tx,
  which: RawBuilder<unknown>,
): Promise<ServerAssignment[]> {
  const { rows } = await sql<AssignmentRow>`
    select s.uuid, o.slug as organisation, s.name, s.egg_digest as egg, s.image, s.variables,
           ${LIMITS} as limits, ${FIRST.ip} as ip, ${FIRST.port} as port, ${portsOf('s')} as ports,
           s.suspended, s.crash_restart as restart, s.crash_within_ms as "withinMs", s.crash_tries as tries,
           s.start_with_host as "startWithHost", s.stop_seconds as "stopSeconds",
           s.build_epoch as "buildEpoch", s.empty_files as "emptyFiles",
           s.docker_image as "dockerImage", s.startup, ${MOUNTS} as mounts,
           coalesce(s.restored_epoch = s.build_epoch, false) as "isRestored"
      from game_servers s join organisations o on o.id = s.organisation_id join nodes n on n.id = s.node_id
     where ${which} order by s.uuid`.execute(db);
  return rows.map(({ ip, port, restart, withinMs, tries, stopSeconds, ...row }) => ({
    ...row,
    allocation: { ip, port },
    crashes: { restart, withinMs, tries },
    stopAfterMs: stopSeconds === null ? null : stopSeconds * 1_000,
  }));
}

/** Eggs by digest, as the stored text. */
export async function loadEggs(
  db: Db | Tx,
  digests: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ digest: string; egg: string }>`
    select digest, egg::text as egg from eggs where digest = any(${digests}::text[])`.execute(db);
  return new Map(rows.map(({ digest, egg }) => [digest, egg]));
}
