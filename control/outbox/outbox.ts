import type { Db } from '../db/database.ts';
import { type Attempt, loadWaiting, type OutboxTable, releaseAttempt } from './attempts.ts';

/** Everything that an outbox sends, and how. */
export interface Sender<Due extends Attempt, Result> {
  readonly table: OutboxTable;
  /** Names the work in messages, like `deliveries of webhooks`. */
  readonly work: string;
  /** The most concurrent attempts of this process. */
  readonly atATime: number;
  /** The longest time between looks for due work, for what no notification and no attempt's end reports. */
  readonly longestWaitMs: number;
  /** Claims due work, at most `room`, by `claimAttempts`. */
  claim(room: number): Promise<Due[]>;
  /** Makes an attempt. Rejects when the signal aborts it. */
  send(due: Due, signal: AbortSignal): Promise<Result>;
  /** Stores the result by `storeResult`. A result whose claim was not the last one is reported as superseded. */
  settle(due: Due, result: Result): Promise<void>;
  failed(what: string, error: unknown): void;
}

export interface Outbox {
  /** Called on notifications of new work, and after notifications were lost. */
  wake(): void;
  /** Aborts running attempts and gives them back; another process repeats them. */
  stop(): Promise<void>;
}

const AFTER_FAILURE_MS = 2_000;

/** Makes due attempts until it is stopped. */
export function startOutbox<Due extends Attempt, Result>(
  db: Db,
  sender: Sender<Due, Result>,
): Outbox {
  return new SendingOutbox(db, sender);
}

class SendingOutbox<Due extends Attempt, Result> implements Outbox {
  readonly #db: Db;
  readonly #sender: Sender<Due, Result>;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #isWoken = false;

  constructor(db: Db, sender: Sender<Due, Result>) {
    this.#db = db;
    this.#sender = sender;
    this.wake();
  }

  wake(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isWoken = true;
    clearTimeout(this.#timer);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      // Woken after the last query of this look.
      if (this.#isWoken) this.wake();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#underWay);
  }

  async #look(): Promise<void> {
    const { work, longestWaitMs } = this.#sender;
    let waitMs: number | null;
    try {
      do waitMs = await this.#begin();
      while (waitMs === 0);
    } catch (error) {
      this.#sender.failed(`looking for ${work}`, error);
      this.#isWoken = false;
      waitMs = AFTER_FAILURE_MS;
    }
    if (waitMs === null || this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => this.wake(), Math.min(waitMs, longestWaitMs));
  }

  /**
   * Begins due attempts. Returns milliseconds until the next look: 0 when there may be more, null when the end of an
   * attempt wakes it. What running attempts hold back waits for their ends, or for the ends of their leases.
   */
  async #begin(): Promise<number | null> {
    this.#isWoken = false;
    const room = this.#sender.atATime - this.#underWay.size;
    if (room <= 0 || this.#stopping.signal.aborted) return null;
    const { isDue, nextMs } = await loadWaiting(this.#db, this.#sender.table);
    const claimed = isDue ? await this.#sender.claim(room) : [];
    for (const due of claimed) {
      const running = this.#attempt(due).finally(() => {
        this.#underWay.delete(running);
        this.wake();
      });
      this.#underWay.add(running);
    }
    if (claimed.length > 0 || this.#isWoken) return 0;
    return nextMs === null ? this.#sender.longestWaitMs : Math.max(1, nextMs);
  }

  /** Never rejects. */
  async #attempt(due: Due): Promise<void> {
    const { table, work } = this.#sender;
    const { signal } = this.#stopping;
    try {
      const result = await this.#sender.send(due, signal).catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
      if (result === null) await releaseAttempt(this.#db, table, due);
      else await this.#sender.settle(due, result);
    } catch (error) {
      this.#sender.failed(`${work} (${due.id})`, error);
    }
  }
}
