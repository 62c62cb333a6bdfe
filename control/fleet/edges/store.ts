import { sql } from 'kysely';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { EdgeManagement } from '../../db/schema.ts';

/** What the operator named, and what was heard of it. */
export interface EdgeState {
  readonly id: number;
  readonly settings: EdgeAssignment;
  readonly serves: readonly string[];
  /** The instance that may speak for the edge; null: none, whoever speaks must say hello first. */
  readonly instance: string | null;
  readonly mode: EdgeMode | null;
  readonly inService: boolean;
  readonly confirmedGeneration: number;
  readonly joinsAtGeneration: number;
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
  readonly joins_at_generation: number;
}

const COLUMNS = sql.raw(
  `edges.id, edges.name, edges.site, edges.devices, edges.serves::text[] as serves, edges.sees,
   edges.fragments, edges.management, edges.instance, edges.mode, edges.in_service,
   edges.confirmed_generation, edges.joins_at_generation`,
);

/** An edge by its name, or null. */
export async function loadEdge(db: Db | Tx, name: string): Promise<EdgeState | null> {
  const { rows } = await sql<EdgeRow>`select ${COLUMNS} from edges where name = ${name}`.execute(
    db,
  );
  return rows[0] === undefined ? null : stateOf(rows[0]);
}

async function lockEdge(tx: Tx, name: string): Promise<EdgeState | null> {
  const { rows } = await sql<EdgeRow>`
    select ${COLUMNS} from edges where name = ${name} for update`.execute(tx);
  return rows[0] === undefined ? null : stateOf(rows[0]);
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
    joinsAtGeneration: row.joins_at_generation,
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
  /** This instance is not the one heard last: it holds nothing until it has synced whole. */
  readonly isNew: boolean;
  readonly leftService: boolean;
}

/**
 * Records who speaks for an edge from now on; null: no such edge.
 * A new instance is out of service until it has confirmed what is accepted now. An edge that observes is
 * no enforcing edge, whatever it was before: with it gone on purpose, live must not wait for it.
 */
export async function recordHello(db: Db, hello: Hello): Promise<Greeted | null> {
  return db.transaction().execute(async (tx) => {
    const before = await lockEdge(tx, hello.name);
    if (before === null) return null;
    const isNew = before.instance !== hello.instance;
    const stays = before.inService && !isNew && hello.mode === 'enforce';
    const { rows } = await sql<EdgeRow & { generation: number }>`
      update edges set
        instance = ${hello.instance}, last_seen_at = clock_timestamp(), in_service = ${stays},
        joins_at_generation = case when ${stays} then joins_at_generation else fleet.generation end,
        left_service_at = case when ${before.inService && !stays} then clock_timestamp() else left_service_at end,
        ${modeColumns(hello)}
      from fleet where edges.id = ${before.id}
      returning ${COLUMNS}, fleet.generation`.execute(tx);
    const row = rows[0];
    if (row === undefined) throw new Error('the fleet has lost its row');
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
    enforcing_since = case when ${mode === 'observe'} then null else enforcing_since end`;
}

export interface Heartbeat extends Hello {
  readonly report: EdgeReport;
}

/** Renews the lease. `unknown`: no such edge; `resync`: this instance does not speak for it (any more). */
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
    // Observed until now: what it confirmed then was never in its kernel.
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

export interface Confirmation {
  readonly name: string;
  readonly instance: string;
  readonly generation: number;
  readonly refused: readonly { target: string; reason: string; goodGeneration: number }[];
}
export type Confirmed =
  /** It counts: it was in service or joined now. */
  | { readonly kind: 'counted'; readonly joined: boolean }
  /** Heard, but it observes or has not caught up. */
  | { readonly kind: 'heard' }
  | { readonly kind: 'unknown' | 'resync' | 'future' }
  | { readonly kind: 'stale'; readonly confirmed: number };

/** Records what an edge has in its kernel. A confirmation never takes an edge back. */
export async function recordConfirmation(db: Db, confirmation: Confirmation): Promise<Confirmed> {
  return db.transaction().execute(async (tx): Promise<Confirmed> => {
    const edge = await lockEdge(tx, confirmation.name);
    if (edge === null) return { kind: 'unknown' };
    if (edge.instance !== confirmation.instance) return { kind: 'resync' };
    const { generation } = confirmation;
    const bar = await loadBar(tx, edge);
    if (generation > bar.accepted) return { kind: 'future' };
    const counts =
      edge.inService ||
      (edge.mode === 'enforce' && generation >= Math.max(edge.joinsAtGeneration, bar.others));
    if (counts && generation < edge.confirmedGeneration) {
      return { kind: 'stale', confirmed: edge.confirmedGeneration };
    }
    await sql`
      update edges set last_seen_at = clock_timestamp() where id = ${edge.id}`.execute(tx);
    if (!counts) return { kind: 'heard' };
    if (bar.firstEver) await settleUnenforced(tx, generation);
    await sql`
      update edges set confirmed_generation = ${generation}, in_service = true, left_service_at = null,
             enforcing_since = coalesce(enforcing_since, clock_timestamp())
       where id = ${edge.id}`.execute(tx);
    await replaceRefusals(tx, edge.id, confirmation);
    return { kind: 'counted', joined: !edge.inService };
  });
}

/**
 * What a joining edge is measured by: `others` is the furthest that an edge in service which shares addresses
 * with it has got. Joining below that would take back what readers have already seen as live.
 */
async function loadBar(tx: Tx, edge: EdgeState) {
  const { rows } = await sql<{ accepted: number; others: number; firstEver: boolean }>`
    select fleet.generation as accepted,
           coalesce((select max(e.confirmed_generation) from edges e
              where e.in_service and e.id <> ${edge.id}
                and exists (select from unnest(e.serves) a, unnest(${edge.serves}::cidr[]) b where a && b)), 0) as others,
           not exists (select from edges where enforcing_since is not null) as "firstEver"
      from fleet`.execute(tx);
  const bar = rows[0];
  if (bar === undefined) throw new Error('the fleet has lost its row');
  return bar;
}

/** While nothing enforced, accepted was live: those generations took no time. */
async function settleUnenforced(tx: Tx, until: number): Promise<void> {
  await sql`
    update generations set live_at = created_at where live_at is null and generation <= ${until}`.execute(
    tx,
  );
}

async function replaceRefusals(tx: Tx, edgeId: number, { refused, generation }: Confirmation) {
  await sql`delete from edge_refusals where edge_id = ${edgeId}`.execute(tx);
  if (refused.length === 0) return;
  await sql`
    insert into edge_refusals (edge_id, target, reason, good_generation)
    select ${edgeId}, target::cidr, reason, least(good, ${generation}::bigint)
      from unnest(${refused.map((r) => r.target)}::text[], ${refused.map((r) => r.reason)}::text[],
                  ${refused.map((r) => r.goodGeneration)}::bigint[]) as refused (target, reason, good)
    on conflict do nothing`.execute(tx);
}

/** Takes edges out of service that were not heard for `leaseMs`; their names. They must say hello again. */
export async function expireLeases(db: Db, leaseMs: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    update edges set in_service = false, left_service_at = statement_timestamp(), instance = null
     where in_service and last_seen_at < statement_timestamp() - ${leaseMs} * interval '1 millisecond'
    returning name`.execute(db);
  return rows.map((row) => row.name);
}

export interface LiveGeneration {
  readonly generation: number;
  readonly cause: string;
  /** From accepted to live. */
  readonly tookMs: number;
}

/**
 * Marks the generations that every edge in service has by now, each once whoever asks, and returns those
 * newly marked. Call it after the commit of what may have made them so: two edges that confirm at the same time
 * do not see each other before.
 */
export async function markLive(db: Db): Promise<LiveGeneration[]> {
  const { rows } = await sql<LiveGeneration>`
    update generations set live_at = clock_timestamp()
     where live_at is null
       and generation <= (select min(confirmed_generation) from edges where in_service)
    returning generation, cause,
              (extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as "tookMs"`.execute(
    db,
  );
  return rows.toSorted((a, b) => a.generation - b.generation);
}
