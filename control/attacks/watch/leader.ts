import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';
import type { WatchEvents } from './events.ts';
import type { AttackSink } from '../record/plan.ts';
import { orphansOf } from '../record/store.ts';
import { DetectorHost } from './detector-host.ts';
import type { ScopeTable } from './scopes.ts';

export interface LeaderOptions {
  readonly db: Db;
  /** The instance id of this process. */
  readonly name: string;
  readonly scopes: ScopeTable;
  readonly recorder: AttackSink;
  readonly events: Pick<WatchEvents, 'leads'>;
}

/**
 * One replica runs the detector for all agents, so that an attack seen in parts by two agents is seen whole. The other
 * replicas forward the samples of their agents. Without the database the last detector continues, and no other can
 * start.
 */
export class DetectionLeader {
  readonly #options: LeaderOptions;
  #host: DetectorHost | null = null;
  #stopped = false;
  #answeredMs = performance.now();

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Null if another replica runs the detector. */
  get host(): DetectorHost | null {
    return this.#host;
  }

  /** How long the database has not answered a renewal. */
  get silentMs(): number {
    return performance.now() - this.#answeredMs;
  }

  /** False if no replica could take it. */
  async accept(from: AgentRef, site: string, message: WatchSamples): Promise<boolean> {
    if (this.#host === null) return forwardSamples(this.#options.db, { from, message });
    this.#host.accept(from, site, message);
    return true;
  }

  /** Called more often than the lease expires. Returns what waits for the replica with the lease; null for others. */
  async renew(): Promise<Waiting | null> {
    const { db, name, scopes, recorder, events } = this.#options;
    if (this.#stopped) return null;
    const waiting = await renewLease(db, name);
    this.#answeredMs = performance.now();
    const isMine = waiting !== null;
    if (isMine === (this.#host !== null)) return waiting;
    // The state of an earlier lease is out of date.
    this.#host = isMine ? new DetectorHost({ scopes, recorder }) : null;
    events.leads(isMine);
    return waiting;
  }

  /** Processes the samples that other replicas forwarded. */
  async takeForwarded(): Promise<void> {
    for (let more = this.#host !== null; more; ) {
      const taken = await takeForwarded(this.#options.db);
      for (const { from, message } of taken.relayed) {
        const agent = this.#options.scopes.agents.of(from);
        if (agent !== null) this.#host?.accept(from, agent.site, message);
      }
      ({ more } = taken);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#host !== null) await releaseLease(this.#options.db, this.#options.name);
  }
}

/** How often the lease is renewed. */
export const RENEWAL_MS = 1_000;
/** After this time without a renewal another replica takes the lease; several renewals may fail. */
const LEASE_SECONDS = 3;

/** Whether there is work for the detector that its own agents do not bring. */
export interface Waiting {
  /** Attacks that no replica sees. */
  readonly orphans: boolean;
  readonly forwarded: boolean;
}

/**
 * Renews the detection lease, or takes it if it expired, by the database's clock. Null: another replica has it. What waits is
 * asked with it, so that an idle control sends one statement.
 */
export async function renewLease(db: Db, holder: string): Promise<Waiting | null> {
  const { rows } = await sql<Waiting>`
    insert into detector_lease as l (holder, expires_at)
    values (${holder}, now() + ${LEASE_SECONDS} * interval '1 second')
        on conflict (one) do update set holder = excluded.holder, expires_at = excluded.expires_at
     where l.holder is null or l.holder = excluded.holder or l.expires_at < now()
    returning exists (${orphansOf(sql`1`)}) as orphans,
              exists (select from relayed_samples) as forwarded`.execute(db);
  return rows[0] ?? null;
}

/** Releases the lease for the next replica, which continues the attacks. */
async function releaseLease(db: Db, holder: string): Promise<void> {
  await sql`delete from attack_sightings where recorder = ${holder}`.execute(db);
  await sql`update detector_lease set holder = null, expires_at = now() where holder = ${holder}`.execute(
    db,
  );
}

/** The most waiting samples; beyond it new ones are dropped. */
const MAX_WAITING = 2_000;
const BATCH = 256;
/** Older samples are dropped. */
const STALE_SECONDS = 2;

interface ForwardedSamples {
  readonly from: AgentRef;
  readonly message: WatchSamples;
}

/** Forwards samples to the replica with the lease. False if there is none or it is far behind. */
export async function forwardSamples(
  db: Db,
  { from, message }: ForwardedSamples,
): Promise<boolean> {
  const { rows } = await sql`
    with forwarded as (
      insert into relayed_samples (kind, name, message)
      select ${from.kind}, ${from.name}, ${JSON.stringify(message)}
       where (select count(*) from (select from relayed_samples limit ${MAX_WAITING}) w) < ${MAX_WAITING}
         and exists (select from detector_lease where holder is not null and expires_at > now())
      returning 1)
    select pg_notify('portcullis_samples', '') from forwarded`.execute(db);
  return rows.length > 0;
}

/** The forwarded samples, oldest first, in batches. */
async function takeForwarded(db: Db): Promise<{ relayed: ForwardedSamples[]; more: boolean }> {
  const { rows } = await sql<{ kind: string; name: string; message: string; fresh: boolean }>`
    with taken as (
      delete from relayed_samples where id in (
        select id from relayed_samples order by id limit ${BATCH} for update skip locked)
      returning *)
    select kind, name, message,
           relayed_at > clock_timestamp() - ${STALE_SECONDS} * interval '1 second' as fresh
      from taken order by id`.execute(db);
  const relayed = rows
    .filter(({ fresh }) => fresh)
    .map(({ kind, name, message }) => ({
      from: { kind: kind === 'edge' ? ('edge' as const) : ('collector' as const), name },
      // Validated when the agent sent it.
      message: JSON.parse(message) as WatchSamples,
    }));
  return { relayed, more: rows.length === BATCH };
}
