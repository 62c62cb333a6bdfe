import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';
import type { WatchEvents } from './events.ts';
import type { DetectorHost } from './detector-host.ts';
import { releaseLease, renewLease } from './lease.ts';
import { forwardSamples, takeForwarded } from './relay.ts';

export interface LeaderOptions {
  readonly db: Db;
  /** The instance id of this process. */
  readonly name: string;
  readonly createHost: () => DetectorHost;
  /** Null if it is no known agent of the fleet. */
  readonly siteOf: (from: AgentRef) => string | null;
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

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Null if another replica runs the detector. */
  get host(): DetectorHost | null {
    return this.#host;
  }

  /** False if no replica could take it. */
  async accept(from: AgentRef, site: string, message: WatchSamples): Promise<boolean> {
    if (this.#host === null) return forwardSamples(this.#options.db, { from, message });
    this.#host.accept(from, site, message);
    return true;
  }

  /** Called more often than the lease expires. */
  async renew(): Promise<void> {
    const { db, name, createHost, events } = this.#options;
    if (this.#stopped) return;
    const isMine = await renewLease(db, name);
    if (isMine === (this.#host !== null)) return;
    // The state of an earlier lease is out of date.
    this.#host = isMine ? createHost() : null;
    events.leads(isMine);
  }

  /** Processes the samples that other replicas forwarded. */
  async takeForwarded(): Promise<void> {
    for (let more = this.#host !== null; more; ) {
      const taken = await takeForwarded(this.#options.db);
      for (const { from, message } of taken.relayed) {
        const site = this.#options.siteOf(from);
        if (site !== null) this.#host?.accept(from, site, message);
      }
      ({ more } = taken);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#host !== null) await releaseLease(this.#options.db, this.#options.name);
  }
}
