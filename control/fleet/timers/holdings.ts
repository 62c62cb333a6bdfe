import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows, noteLock } from '../../db/locks.ts';
import type { FleetEvents } from '../events.ts';
import { Batch } from '../batch.ts';
import { lostFleet, takeGeneration } from '../generations.ts';
import { touchList } from '../policies/blocked-sets.ts';

export interface SchedulerOptions {
  readonly db: Db;
  readonly events: FleetEvents;
  /** The longest wait between two checks; default 10 s. */
  readonly maxWaitMs?: number;
}
export interface HoldingScheduler {
  /** Recomputes when the next holding starts or ends, because holdings may have changed. */
  wake(): void;
  stop(): Promise<void>;
}

/** Advisory lock between replicas; "PCHO" in ASCII. */
const LOCK = 0x50_43_48_4f;
/** It wakes when the next one is due; clocks differ. */
const MAX_WAIT_MS = 30_000;
const RETRY_MS = 1_000;
/** A burst of writes wakes the scheduler once. */
const WAKE_MS = 20;

/**
 * Takes a generation when a holding starts or ends, and when the time of a blocked source is over, because no write does. At the start it catches up on what happened
 * while no control plane ran, from `fleet.holdings_until`.
 */
export function startHoldingScheduler(options: SchedulerOptions): HoldingScheduler {
  const maxWaitMs = options.maxWaitMs ?? MAX_WAIT_MS;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = 0;
  let running: Promise<void> | null = null;
  let wakeRequested = false;
  let stopped = false;

  const arm = (waitMs: number): void => {
    if (stopped) return;
    clearTimeout(timer);
    dueAtMs = Date.now() + waitMs;
    timer = setTimeout(run, waitMs);
  };
  const run = (): void => {
    if (running !== null) return;
    running = turn().finally(() => {
      running = null;
    });
  };
  const turn = async (): Promise<void> => {
    let waitMs = RETRY_MS;
    wakeRequested = false;
    try {
      const next = await advanceHoldings(options.db, options.events);
      waitMs = Math.min(next ?? maxWaitMs, maxWaitMs);
    } catch (error) {
      options.events.failed('starting and ending holdings', error);
    }
    arm(wakeRequested ? WAKE_MS : waitMs);
  };

  arm(0);
  return {
    wake() {
      if (running !== null) wakeRequested = true;
      else if (Date.now() + WAKE_MS < dueAtMs) arm(WAKE_MS);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Waits are rounded up, so that the moment has passed; and another replica may be doing the work. */
const ROUNDING_MS = 1;
const LEAST_WAIT_MS = 5;

/**
 * Takes one generation for every holding that started or ended since the last call.
 * Returns the milliseconds until the next one, or null.
 */
export async function advanceHoldings(db: Db, events: FleetEvents): Promise<number | null> {
  const moved = await db.transaction().execute(moveHoldings);
  if (moved !== null) events.holdingsMoved(moved.generation, moved.targets, moved.lateMs);
  await db.transaction().execute(endExpiredSources);
  await db.transaction().execute(endExpiredRules);
  await db.transaction().execute(endExpiredOfGroups);
  const { rows } = await sql<{ waitMs: number | null }>`
    select (extract(epoch from least(
      (select min(lower(during)) from holdings where lower(during) > fleet.holdings_until and lower(during) < 'infinity'),
      (select min(upper(during)) from holdings where upper(during) > fleet.holdings_until and upper(during) < 'infinity'),
      (select min(expires_at) from blocked_sources where deleted_generation is null),
      (select min(expires_at) from rules where deleted_generation is null),
      (select min(expires_at) from group_rules where deleted_generation is null),
      (select min(expires_at) from group_filters where deleted_generation is null)
    ) - clock_timestamp()) * 1000)::float8 as "waitMs" from fleet`.execute(db);
  const waitMs = rows[0]?.waitMs ?? null;
  return waitMs === null ? null : Math.max(LEAST_WAIT_MS, Math.ceil(waitMs) + ROUNDING_MS);
}

/** Ends the blocked sources whose time is over. */
async function endExpiredSources(tx: Tx): Promise<void> {
  noteLock(tx, 'blocked_sources');
  const { rows } = await sql<{ id: number; organisationId: number; target: string | null }>`
    select id, organisation_id as "organisationId", target from blocked_sources
     where deleted_generation is null and expires_at <= clock_timestamp() limit 10000
       for update skip locked`.execute(tx);
  if (rows.length === 0) return;
  const batch = new Batch(tx, 'portal');
  await batch.end(
    'blocked_sources',
    rows.map(({ id }) => id),
  );
  const lists = new Map(rows.map((row) => [`${row.organisationId} ${row.target}`, row]));
  for (const list of lists.values()) await touchList(batch, list);
  await batch.takeGeneration('blocked.expire');
}

/** Ends the rules whose time is over. */
async function endExpiredRules(tx: Tx): Promise<void> {
  const due = sql`r.deleted_generation is null and r.expires_at <= clock_timestamp()`;
  // As every write to an address does first.
  noteLock(tx, 'addresses');
  const { rows: addresses } = await sql<{ id: number; ip: string }>`
    select id, ip::cidr as ip from addresses where id in (select r.address_id from rules r where ${due} limit 10000)
     order by id for update`.execute(tx);
  if (addresses.length === 0) return;
  const of = addresses.map(({ id }) => id);
  const { rows } = await sql<{ id: number }>`
    select r.id from rules r where ${due} and r.address_id = any(${of}::bigint[])`.execute(tx);
  if (rows.length === 0) return;
  const batch = new Batch(tx, 'portal');
  await batch.end(
    'rules',
    rows.map(({ id }) => id),
  );
  await batch.touchAddresses(addresses);
  await batch.takeGeneration('rule.expire');
}

/** Ends the rules and filters of groups whose time is over. */
async function endExpiredOfGroups(tx: Tx): Promise<void> {
  const due = sql`deleted_generation is null and expires_at <= clock_timestamp()`;
  const { rows } = await sql<{ id: number }>`
    select distinct group_id as id from (
      select group_id from group_rules where ${due} union select group_id from group_filters where ${due}) of
     limit 1000`.execute(tx);
  if (rows.length === 0) return;
  const groups = rows.map(({ id }) => id);
  // As every change of a group does first.
  await lockRows(tx, 'groups', groups, 'update');
  const batch = new Batch(tx, 'portal');
  for (const table of ['group_rules', 'group_filters'] as const) {
    const ended = await sql<{ id: number }>`
      select id from ${sql.table(table)} where ${due} and group_id = any(${groups}::bigint[])`.execute(
      tx,
    );
    await batch.end(
      table,
      ended.rows.map(({ id }) => id),
    );
  }
  const { rows: targets } = await sql<{ target: string }>`
    select distinct target from group_assignments
     where group_id = any(${groups}::bigint[]) and deleted_generation is null`.execute(tx);
  batch.touch(...targets.map(({ target }) => target));
  await batch.takeGeneration('group.expire');
}

interface Moved {
  readonly generation: number;
  readonly targets: readonly string[];
  /** Time since the earliest of them. */
  readonly lateMs: number;
}

async function moveHoldings(tx: Tx): Promise<Moved | null> {
  const { rows: lock } = await sql<{ ours: boolean }>`
    select pg_try_advisory_xact_lock(${LOCK}) as ours`.execute(tx);
  // Another replica is doing it; this one checks soon enough to take over.
  if (lock[0]?.ours !== true) return null;
  // The time stays text: a Date would cut its microseconds, and a boundary in between would be lost or done twice.
  const { rows } = await sql<{ target: string | null; until: string; lateMs: number }>`
    with span as (
      select holdings_until as since, clock_timestamp() as until from fleet
    ), moved as (
      select cidr, lower(during) as at from holdings, span
       where lower(during) > since and lower(during) <= until
      union all
      select cidr, upper(during) from holdings, span
       where upper(during) > since and upper(during) <= until
    )
    select cidr as target, until::text as until,
           (extract(epoch from until - min(at)) * 1000)::float8 as "lateMs"
      from span left join moved on true group by cidr, until`.execute(tx);
  const until = rows[0]?.until;
  if (until === undefined) throw lostFleet();
  const targets = rows.flatMap((row) => row.target ?? []);
  if (targets.length === 0) {
    await catchUp(tx, until);
    return null;
  }
  const generation = await takeGeneration(tx, { cause: 'holding', targets });
  // Detection follows holdings, and nothing was written to them.
  await sql`
    with moved as (update fleet set holdings_until = ${until}::timestamptz returning 1)
    select pg_notify('portcullis_holdings', '') from moved`.execute(tx);
  return { generation, targets, lateMs: Math.round(Math.max(...rows.map((row) => row.lateMs))) };
}

/** Moves the mark about once an hour, so that a holding inserted with a past start is not taken for a new one. */
async function catchUp(tx: Tx, until: string): Promise<void> {
  await sql`
    update fleet set holdings_until = ${until}::timestamptz
     where holdings_until < ${until}::timestamptz - interval '1 hour'`.execute(tx);
}
