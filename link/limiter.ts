export interface LimiterOptions {
  /** Work that runs this long passes its slot on to work that waits, and continues. Default: none does. */
  readonly slotMs?: number;
}

export interface WorkOptions {
  /** Names the party that the work is for. Default: all work is for one. */
  readonly owner?: string;
  /** Called once if the work has to wait. */
  readonly onWait?: () => void;
}

interface Slot {
  readonly owner: string;
  /** Whether its work runs for longer than `slotMs`. */
  isOverdue: boolean;
  timer?: NodeJS.Timeout;
}

/**
 * Limits concurrent work. Waiting work starts in the order of its arrival, and fairly between owners: a free slot goes to
 * the owner with the least running work, and of equal ones to that whose last start is the longest ago. With a limit of 1
 * and one owner it is a serial queue.
 */
export class Limiter {
  readonly #limit: number;
  readonly #slotMs: number | null;
  readonly #slots = new Set<Slot>();
  /** Running work of each owner, also where its slot was passed on. */
  readonly #running = new Map<string, number>();
  /** The number of the last work that each owner started, until all are idle. */
  readonly #lastStart = new Map<string, number>();
  #starts = 0;
  /** Waiting work of each owner that has some. */
  readonly #waiting = new Map<string, ((slot: Slot) => void)[]>();

  constructor(limit: number, { slotMs }: LimiterOptions = {}) {
    this.#limit = limit;
    this.#slotMs = slotMs ?? null;
  }

  /** Rejects with the signal's reason if it is aborted while the work waits. */
  async run<T>(
    work: () => Promise<T>,
    signal?: AbortSignal,
    { owner = '', onWait }: WorkOptions = {},
  ): Promise<T> {
    this.#passOverdueOn();
    const slot =
      this.#slots.size < this.#limit
        ? this.#take(owner)
        : await this.#waitForSlot(owner, signal, onWait);
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      this.#leave(slot);
    }
  }

  #take(owner: string): Slot {
    const slot: Slot = { owner, isOverdue: false };
    this.#slots.add(slot);
    this.#starts += 1;
    this.#lastStart.set(owner, this.#starts);
    this.#running.set(owner, this.#runningOf(owner) + 1);
    if (this.#slotMs === null) return slot;
    slot.timer = setTimeout(() => {
      slot.isOverdue = true;
      if (this.#waiting.size > 0) this.#passOn(slot);
    }, this.#slotMs).unref();
    return slot;
  }

  #leave(slot: Slot): void {
    clearTimeout(slot.timer);
    const left = this.#runningOf(slot.owner) - 1;
    if (left > 0) this.#running.set(slot.owner, left);
    else this.#running.delete(slot.owner);
    this.#passOn(slot);
  }

  /** Makes place for work that begins to wait now. */
  #passOverdueOn(): void {
    if (this.#slots.size < this.#limit) return;
    const overdue = [...this.#slots].find(({ isOverdue }) => isOverdue);
    if (overdue !== undefined) this.#passOn(overdue);
  }

  /** Gives a slot to the next that waits, directly, so that no other call can take it in between. */
  #passOn(slot: Slot): void {
    if (!this.#slots.delete(slot)) return;
    const owner = this.#nextOwner();
    if (owner === undefined) {
      if (this.#slots.size === 0) this.#lastStart.clear();
      return;
    }
    const waiting = this.#waiting.get(owner) ?? [];
    const start = waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(owner);
    start?.(this.#take(owner));
  }

  #nextOwner(): string | undefined {
    let next: string | undefined;
    for (const owner of this.#waiting.keys()) {
      if (next === undefined || this.#isBefore(owner, next)) next = owner;
    }
    return next;
  }

  #isBefore(owner: string, other: string): boolean {
    const more = this.#runningOf(owner) - this.#runningOf(other);
    if (more !== 0) return more < 0;
    return (this.#lastStart.get(owner) ?? 0) < (this.#lastStart.get(other) ?? 0);
  }

  #runningOf(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  async #waitForSlot(owner: string, signal?: AbortSignal, onWait?: () => void): Promise<Slot> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const leave = (): void => {
      const waiting = this.#waiting.get(owner) ?? [];
      waiting.splice(waiting.indexOf(start), 1);
      if (waiting.length === 0) this.#waiting.delete(owner);
      reject(signal?.reason as Error);
    };
    const start = (slot: Slot): void => {
      signal?.removeEventListener('abort', leave);
      resolve(slot);
    };
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) this.#waiting.set(owner, [start]);
    else waiting.push(start);
    signal?.addEventListener('abort', leave, { once: true });
    onWait?.();
    return promise;
  }
}
