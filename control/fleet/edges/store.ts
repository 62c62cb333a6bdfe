import { sql } from 'kysely';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockClause, lockRows, noteLock } from '../../db/locks.ts';
import type { LiveGeneration } from '../events.ts';
import { lostFleet } from '../generations.ts';
import type { EdgeManagement } from '../../db/schema.ts';

/** An edge: its settings in the fleet file and its last known state. */
export interface EdgeState {
  readonly id: number;
  readonly settings: EdgeAssignment;
  readonly serves: readonly string[];
  /** The instance that represents the edge; null when a hello is needed first. */
  readonly instance: string | null;
  readonly mode: EdgeMode | null;
  readonly inService: boolean;
  readonly confirmedGeneration: number;
  /** The newest one that it confirmed itself; the other one rises over those that do not concern it. */
  readonly ownGeneration: number;
  readonly joinsAtGeneration: number;
  /** This instance has not received a whole sync since its first hello. */
  readonly needsWholeSync: boolean;
}

interface EdgeRow {
  readonly id: number;
  readonly name: string;
  readonly site: string;
  readonly devices: string[];
  readonly serves: string[];
  readonly sees: 'both' | 'inbound';
  readonly fragments: 'reassemble' | 'limit';
  readonly management: EdgeManagement[];
  readonly instance: string | null;
  readonly mode: EdgeMode | null;
  readonly in_service: boolean;
  readonly confirmed_generation: number;
  readonly own_generation: number;
  readonly joins_at_generation: number;
  readonly needs_whole_sync: boolean;
}

/** A version that does not know of raised generations may have recorded the last confirmation. */
const OWN_GENERATION = sql.raw(
  `case when edges.confirmed_generation = edges.raised_generation then edges.own_generation
        else edges.confirmed_generation end`,
);
const COLUMNS = sql`${sql.raw(
  `edges.id, edges.name, edges.site, edges.devices, edges.serves::text[] as serves, edges.sees,
   edges.fragments, edges.management, edges.instance, edges.mode, edges.in_service,
   edges.confirmed_generation, edges.joins_at_generation, edges.needs_whole_sync`,
)}, ${OWN_GENERATION} as own_generation`;

/** Returns null when there is no edge of this name. */
export async function loadEdge(db: Db | Tx, name: string): Promise<EdgeState | null> {
  return (await loadEdges(db, [name]))[0] ?? null;
}

/** An edge, what is accepted, and whether that is news for it, at one moment. */
export interface EdgeMoment {
  readonly edge: EdgeState;
  /** The newest accepted generation. The edge's settings are of it. */
  readonly generation: number;
  /** The newest generation at which the edge needs what it needed at the one that it has. */
  readonly unchangedUntil: number;
}

/** Returns null when there is no edge of this name. `since`: a generation that it has. */
export async function loadMoment(db: Db, name: string, since: number): Promise<EdgeMoment | null> {
  const { rows } = await sql<EdgeRow & { generation: number; until: number }>`
    select ${COLUMNS}, fleet.generation, unchanged.generation as until
      from fleet, edges, unchanged_until(edges.serves, ${since}::bigint) unchanged
     where edges.name = ${name}`.execute(db);
  const row = rows[0];
  return row === undefined
    ? null
    : { edge: stateOf(row), generation: row.generation, unchangedUntil: row.until };
}

/** Loads those of these names that there are. */
export async function loadEdges(db: Db | Tx, names: readonly string[]): Promise<EdgeState[]> {
  const { rows } = await sql<EdgeRow>`
    select ${COLUMNS} from edges where name = any (${names}::text[])`.execute(db);
  return rows.map(stateOf);
}

/** The last page of a sync of everything was sent to this instance. */
export async function recordWholeSync(db: Db, { id, instance }: EdgeState): Promise<void> {
  await sql`
    update edges set needs_whole_sync = false where id = ${id} and instance = ${instance}`.execute(
    db,
  );
}

/** Locks edges by name; those that there are. In one order, so that two transactions do not wait for each other. */
export async function lockEdges(
  tx: Tx,
  names: readonly string[],
): Promise<ReadonlyMap<string, EdgeState>> {
  noteLock(tx, 'edges');
  const { rows } = await sql<EdgeRow>`
    select ${COLUMNS} from edges where name = any (${names}::text[])
     order by id ${lockClause('update')}`.execute(tx);
  return new Map(rows.map((row) => [row.name, stateOf(row)]));
}

async function lockEdge(tx: Tx, name: string): Promise<EdgeState | null> {
  return (await lockEdges(tx, [name])).get(name) ?? null;
}

function stateOf(row: EdgeRow): EdgeState {
  const { name, site, devices, management, sees, fragments } = row;
  return {
    id: row.id,
    settings: { name, site, devices, management, sees, fragments },
    serves: row.serves,
    instance: row.instance,
    mode: row.mode,
    inService: row.in_service,
    confirmedGeneration: row.confirmed_generation,
    ownGeneration: row.own_generation,
    joinsAtGeneration: row.joins_at_generation,
    needsWholeSync: row.needs_whole_sync,
  };
}

export interface Hello {
  readonly name: string;
  readonly instance: string;
  readonly mode: EdgeMode;
  readonly modeReason: string | null;
}
export interface Greeted {
  readonly edge: EdgeState;
  /** The newest accepted generation. */
  readonly generation: number;
  /** Another instance than the last one: it has nothing until it has synced whole. */
  readonly isNew: boolean;
  readonly leftService: boolean;
}

/**
 * Records the instance that represents an edge. Returns null when there is no such edge.
 * A new instance is out of service until it has confirmed the accepted generation. An edge that observes does not
 * count as enforcing, even if it enforced before, so that live does not wait for it. An edge without a device leaves
 * service too, but is waited for if no other edge enforces: what it does not drop is not live.
 */
export async function recordHello(db: Db, hello: Hello): Promise<Greeted | null> {
  return db.transaction().execute(async (tx) => {
    const before = await lockEdge(tx, hello.name);
    if (before === null) return null;
    const isNew = before.instance !== hello.instance;
    const stays = before.inService && !isNew && hello.mode === 'enforce';
    if (hello.mode === 'no_device') await settleUnenforced(tx);
    const { rows } = await sql<EdgeRow & { generation: number }>`
      update edges set
        instance = ${hello.instance}, last_seen_at = clock_timestamp(), in_service = ${stays},
        needs_whole_sync = needs_whole_sync or ${isNew},
        joins_at_generation = case when ${stays} then joins_at_generation else fleet.generation end,
        left_service_at = case when ${before.inService && !stays} then clock_timestamp() else left_service_at end,
        ${modeColumns(hello)}
      from fleet where edges.id = ${before.id}
      returning ${COLUMNS}, fleet.generation`.execute(tx);
    const row = rows[0];
    if (row === undefined) throw lostFleet();
    return {
      edge: stateOf(row),
      generation: row.generation,
      isNew,
      leftService: before.inService && !stays,
    };
  });
}

function modeColumns({ mode, modeReason }: { mode: EdgeMode; modeReason: string | null }) {
  return sql`mode = ${mode}, mode_reason = ${modeReason},
    enforcing_since = case when ${mode === 'observe'} then null
                           when ${mode === 'no_device'} then coalesce(enforcing_since, clock_timestamp())
                           else enforcing_since end`;
}

export interface Heartbeat extends Hello {
  readonly report: EdgeReport;
}

/**
 * Renews the lease. Returns 'unknown' if the edge does not exist, and 'resync' if another instance has taken it over.
 */
export async function recordHeartbeat(
  db: Db,
  beat: Heartbeat,
): Promise<'unknown' | 'resync' | { readonly leftService: boolean }> {
  return db.transaction().execute(async (tx) => {
    const edge = await lockEdge(tx, beat.name);
    if (edge === null) return 'unknown';
    if (edge.instance !== beat.instance) return 'resync';
    const stays = edge.inService && beat.mode === 'enforce';
    const leaves = edge.inService && !stays;
    // It observed before, so what it confirmed was never in its kernel.
    const begins = edge.mode !== 'enforce' && beat.mode === 'enforce';
    await sql`
      update edges set
        last_seen_at = clock_timestamp(), in_service = ${stays}, report = ${JSON.stringify(beat.report)}::jsonb,
        joins_at_generation = case when ${begins} then fleet.generation else joins_at_generation end,
        left_service_at = case when ${leaves} then clock_timestamp() else left_service_at end,
        ${modeColumns(beat)}
      from fleet where edges.id = ${edge.id}`.execute(tx);
    return { leftService: leaves };
  });
}

/** While no edge enforced, accepted was live, so these generations were live at once. Call it before one enrols. */
export async function settleUnenforced(tx: Tx, until: number | null = null): Promise<void> {
  await sql`
    update generations set live_at = created_at
     where live_at is null and generation <= coalesce(${until}::bigint, generation)
       and not exists (select from edges where enforcing_since is not null)`.execute(tx);
}

/**
 * Takes edges out of service that were not seen for `leaseMs`, and returns their names. They must send a hello again.
 */
export async function expireLeases(db: Db, leaseMs: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    update edges set in_service = false, left_service_at = statement_timestamp(), instance = null
     where in_service and last_seen_at < statement_timestamp() - ${leaseMs} * interval '1 millisecond'
    returning name`.execute(db);
  return rows.map((row) => row.name);
}

/**
 * Raises the confirmed generation of these edges over generations that do not concern them: what they have in their kernels
 * is what these would give them. Returns whether any rose. What an edge refused stays as it confirmed it.
 *
 * Call it after the commit of a new generation, and after that of a confirmation: whichever of two commits is the later one
 * then sees the other. Only for edges of this process: those of another version must confirm everything.
 */
export async function raiseUnconcerned(db: Db, names: readonly string[]): Promise<boolean> {
  if (names.length === 0) return false;
  const { rows } = await sql<{ id: number }>`
    select edges.id from edges, unchanged_until(edges.serves, edges.confirmed_generation) unchanged
     where edges.in_service and edges.name = any (${names}::text[])
       and unchanged.generation > edges.confirmed_generation`.execute(db);
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  return db.transaction().execute(async (tx) => {
    await lockRows(tx, 'edges', ids, 'no key update');
    // Read again: before they were locked, their prefixes may have changed.
    const { numAffectedRows } = await sql`
      update edges set confirmed_generation = risen.generation, raised_generation = risen.generation,
             own_generation = ${OWN_GENERATION}
        from (select edges.id, unchanged.generation
                from edges, unchanged_until(edges.serves, edges.confirmed_generation) unchanged
               where edges.in_service and edges.id = any (${ids}::bigint[])) risen
       where edges.id = risen.id and risen.generation > edges.confirmed_generation`.execute(tx);
    return Number(numAffectedRows ?? 0) > 0;
  });
}

/** The newest generation at which an edge needs what it needed at `since`; see `unchanged_until`. */
export async function unchangedUntil(tx: Tx, edge: EdgeState, since: number): Promise<number> {
  const { rows } = await sql<{ generation: number }>`
    select generation from unchanged_until(${edge.serves}::cidr[], ${since}::bigint)`.execute(tx);
  return rows[0]?.generation ?? since;
}

/** Names of the edges that a generation after `since` concerns. */
export async function loadConcerned(tx: Tx, since: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select edges.name from fleet, edges, unchanged_until(edges.serves, ${since}::bigint) unchanged
     where unchanged.generation < fleet.generation`.execute(tx);
  return rows.map(({ name }) => name);
}

/**
 * Marks the generations that every edge in service has, each once, and returns the newly marked ones. Call it after
 * the commit of a confirmation: two concurrent confirmations do not see each other before.
 */
export async function markLive(db: Db): Promise<LiveGeneration[]> {
  const { rows } = await sql<LiveGeneration>`
    update generations set live_at = clock_timestamp()
     where live_at is null
       and generation <= (select min(confirmed_generation) from edges where in_service)
    returning generation, cause, traceparent,
              (extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as "tookMs"`.execute(
    db,
  );
  return rows.toSorted((a, b) => a.generation - b.generation);
}
