import type { Db } from '../../db/database.ts';
import { makeCall } from './call.ts';
import type { CallEvents } from './events.ts';
import { claimCalls, type DueCall, nextDueMs, releaseCall, saveResult } from './queue.ts';

export interface CallsOptions {
  readonly db: Db;
  readonly events: CallEvents;
  /** The least interval of looks for due calls; default 500 ms. */
  readonly everyMs?: number;
}
export interface Calls {
  /** Calls may be due now. */
  wake(): void;
  /** Aborts running calls; the next process repeats them. */
  stop(): Promise<void>;
}

const EVERY_MS = 500;
/** Another process may have left calls. */
const LONGEST_MS = 5_000;

/** Makes due calls until it is stopped. */
export function startCalls(options: CallsOptions): Calls {
  return new Caller(options);
}

class Caller implements Calls {
  readonly #db: Db;
  readonly #events: CallsOptions['events'];
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<DueCall, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  /** A call ended since the last poll. */
  #isRoom = false;

  constructor({ db, events, everyMs = EVERY_MS }: CallsOptions) {
    this.#db = db;
    this.#events = events;
    this.#everyMs = everyMs;
    this.#arm(everyMs);
  }

  wake(): void {
    this.#isRoom = true;
    this.#arm(0);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#underWay.values());
  }

  #arm(waitMs: number): void {
    if (this.#stopping.signal.aborted || this.#looking !== null) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isRoom = false;
      this.#looking = this.#look().then((nextMs) => {
        this.#looking = null;
        this.#arm(this.#isRoom ? 0 : Math.max(this.#everyMs, nextMs));
      });
    }, waitMs);
  }

  /** Makes the calls that are due, and returns when the next ones are. Never rejects. */
  async #look(): Promise<number> {
    try {
      const dueMs = await nextDueMs(this.#db);
      if (dueMs > 0) return Math.min(dueMs, LONGEST_MS);
      for (const due of await claimCalls(this.#db, this.#underWay.size)) {
        this.#underWay.set(
          due,
          this.#run(due).finally(() => this.#ended(due)),
        );
      }
    } catch (error) {
      this.#events.failed('looking for responders to call', error);
    }
    return 0;
  }

  /** A slot is free, so the next call need not wait for the poll. */
  #ended(due: DueCall): void {
    this.#underWay.delete(due);
    this.#isRoom = true;
    this.#arm(0);
  }

  async #run(due: DueCall): Promise<void> {
    const { signal } = this.#stopping;
    try {
      const result = await makeCall(due.spec, due.body, signal);
      if (signal.aborted && !result.succeeded) return await releaseCall(this.#db, due);
      const settled = await saveResult(this.#db, due, result);
      this.#events.called(due.responder, due.body.event, result, settled);
    } catch (error) {
      this.#events.failed(`calling the responder ${due.responder}`, error);
    }
  }
}
