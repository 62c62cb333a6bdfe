import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { SampleRelay } from '@portcullis/link/transport/relay.ts';
import type { Db } from '../../../db/database.ts';
import type { WatchEvents } from './events.ts';
import type { AttackSink } from '../record/plan.ts';
import { orphansOf } from '../record/store.ts';
import { DetectorHost } from './detector-host.ts';
import type { ScopeTable } from '../scopes/scope-table.ts';

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
 * replicas pass it the samples of their agents. Without the database the last detector continues, and no other can
 * start.
 */
export class DetectionLeader {
  readonly #options: LeaderOptions;
  #host: DetectorHost | null = null;
  #stopped = false;
  #answeredMs = performance.now();
  #relay: SampleRelay | null = null;

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
    if (this.#host === null) return (await this.#relay?.pass(from, site, message)) ?? false;
    this.#host.accept(from, site, message);
    return true;
  }

  /** Sets how this replica reaches the others. */
  relayThrough(relay: SampleRelay | null): void {
    this.#relay = relay;
  }

  /**
   * Called more often than the lease expires. Returns whether there are attacks that no replica sees; null where another
   * replica has the lease.
   */
  async renew(): Promise<boolean | null> {
    const { db, name, scopes, recorder, events } = this.#options;
    if (this.#stopped) return null;
    const hasOrphans = await renewLease(db, name);
    this.#answeredMs = performance.now();
    const isMine = hasOrphans !== null;
    if (isMine === (this.#host !== null)) return hasOrphans;
    // The state of an earlier lease is out of date.
    this.#host = isMine ? new DetectorHost({ scopes, recorder }) : null;
    this.#relay?.serve(isMine ? this.#take : null);
    events.leads(isMine);
    return hasOrphans;
  }

  /** Samples of an agent of another replica. */
  readonly #take = (from: AgentRef, site: string, message: WatchSamples): void => {
    this.#host?.accept(from, site, message);
  };

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#relay?.serve(null);
    if (this.#host !== null) await releaseLease(this.#options.db, this.#options.name);
  }
}

/** How often the lease is renewed. */
export const RENEWAL_MS = 1_000;
/** After this time without a renewal another replica takes the lease; several renewals may fail. */
const LEASE_SECONDS = 3;

/**
 * Renews the detection lease, or takes it if it expired, by the database's clock. Null: another replica has it. Otherwise
 * whether there are attacks that no replica sees, which is asked with it, so that an idle control sends one statement.
 */
export async function renewLease(db: Db, holder: string): Promise<boolean | null> {
  const { rows } = await sql<{ orphans: boolean }>`
    insert into detector_lease as l (holder, expires_at)
    values (${holder}, now() + ${LEASE_SECONDS} * interval '1 second')
        on conflict (one) do update set holder = excluded.holder, expires_at = excluded.expires_at
     where l.holder is null or l.holder = excluded.holder or l.expires_at < now()
    returning exists (${orphansOf(sql`1`)}) as orphans`.execute(db);
  return rows[0]?.orphans ?? null;
}

/** Releases the lease for the next replica. */
async function releaseLease(db: Db, holder: string): Promise<void> {
  await sql`update detector_lease set holder = null, expires_at = now() where holder = ${holder}`.execute(
    db,
  );
}
