/** Limits concurrent work; waiting work starts in the order of its arrival. With a limit of 1 it is a serial queue. */
export class Limiter {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Rejects with the signal's reason if it is aborted while the work waits. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#limit) await this.#waitForSlot(signal);
    else this.#running += 1;
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes on directly, so that no other call can take it in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #waitForSlot(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(start), 1);
      reject(signal?.reason as Error);
    };
    const start = (): void => {
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    this.#waiting.push(start);
    signal?.addEventListener('abort', leave, { once: true });
    return promise;
  }
}
