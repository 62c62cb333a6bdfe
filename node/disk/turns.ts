/** `start`: somebody waits for the measurement. `round`: it is one of all servers'. */
export type Lane = 'start' | 'round';

const LANES = ['start', 'round'] as const;
const WINDOW_MS = 100;
/** The part of the pace that is left to rounds while a start is measured. */
const ROUNDS_PART = 0.25;

interface Waiting {
  readonly count: number;
  readonly go: () => void;
}

/**
 * Shares a pace of entries a second among any number of walks. Each asks for one batch at a time and waits in line for
 * the next, so walks of a lane advance alike, whatever their size. While a start is measured, rounds get a quarter.
 */
export class Turns {
  readonly #burst: number;
  readonly #waiting: Readonly<Record<Lane, Waiting[]>> = { start: [], round: [] };
  #starts = 0;
  #left: Record<Lane, number>;
  #windowEnd = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(entriesPerSecond: number) {
    this.#burst = Math.max(1, Math.floor((entriesPerSecond * WINDOW_MS) / 1000));
    this.#left = { start: this.#burst, round: this.#burst };
  }

  /** Runs a walk of a lane, whose batches ask for their turns by `take`. */
  async run<T>(lane: Lane, walk: () => Promise<T>): Promise<T> {
    if (lane === 'round') return walk();
    this.#starts += 1;
    try {
      return await walk();
    } finally {
      this.#starts -= 1;
    }
  }

  /** Waits for the turn of a batch. Rejects with the signal's reason. */
  async take(lane: Lane, count: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (performance.now() >= this.#windowEnd) this.#open();
    if (this.#waiting[lane].length === 0 && this.#left[lane] > 0) {
      this.#left[lane] -= count;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { count, go: resolve };
    const leave = (): void => {
      const queue = this.#waiting[lane];
      const index = queue.indexOf(waiting);
      if (index >= 0) queue.splice(index, 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting[lane].push(waiting);
    this.#schedule();
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #open(): void {
    this.#windowEnd = performance.now() + WINDOW_MS;
    const round = this.#starts > 0 ? this.#burst * ROUNDS_PART : this.#burst;
    this.#left = { start: this.#burst - (this.#starts > 0 ? round : 0), round };
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    const waitMs = Math.max(1, this.#windowEnd - performance.now());
    this.#timer = setTimeout(() => this.#serve(), waitMs);
  }

  #serve(): void {
    this.#timer = undefined;
    if (performance.now() >= this.#windowEnd) this.#open();
    for (const lane of LANES) {
      while (this.#left[lane] > 0) {
        const next = this.#waiting[lane].shift();
        if (next === undefined) break;
        this.#left[lane] -= next.count;
        next.go();
      }
    }
    if (LANES.some((lane) => this.#waiting[lane].length > 0)) this.#schedule();
  }
}
