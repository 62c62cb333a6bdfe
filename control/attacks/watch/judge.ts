import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';
import type { WatchEvents } from './events.ts';
import type { DetectorHost } from './host.ts';
import { releaseLease, renewLease } from './lease.ts';
import { relaySamples, takeRelayed } from './relay.ts';

export interface JudgeOptions {
  readonly db: Db;
  /** Of this run of a control plane. */
  readonly name: string;
  readonly createHost: () => DetectorHost;
  /** Null: no agent of the fleet, as far as is known here. */
  readonly siteOf: (from: AgentRef) => string | null;
  readonly events: Pick<WatchEvents, 'judges'>;
}

/**
 * One control plane judges what all agents count: an attack that comes in at two of them, each of which sees a half, is
 * seen whole. The others hand on what their agents tell. Without the database the last judge goes on; nobody else can
 * begin.
 */
export class Judge {
  readonly #options: JudgeOptions;
  #host: DetectorHost | null = null;
  #stopped = false;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** Null: another control plane judges. */
  get host(): DetectorHost | null {
    return this.#host;
  }

  /** False: it could be handed to nobody. */
  async accept(from: AgentRef, site: string, message: WatchSamples): Promise<boolean> {
    if (this.#host === null) return relaySamples(this.#options.db, { from, message });
    this.#host.accept(from, site, message);
    return true;
  }

  /** Called more often than the right to judge runs out. */
  async renew(): Promise<void> {
    const { db, name, createHost, events } = this.#options;
    if (this.#stopped) return;
    const isMine = await renewLease(db, name);
    if (isMine === (this.#host !== null)) return;
    // Who judged before knows nothing of what was counted since.
    this.#host = isMine ? createHost() : null;
    events.judges(isMine);
  }

  /** Judges what other control planes handed on. */
  async takeRelayed(): Promise<void> {
    for (let more = this.#host !== null; more; ) {
      const taken = await takeRelayed(this.#options.db);
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
