/** How many jobs run at once, and how many may wait behind them. */
export interface QueueSize {
  readonly running: number;
  readonly waiting: number;
}

/** The queue had no place: the job was not begun. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
  readonly size: QueueSize;

  constructor(size: QueueSize) {
    super(`${size.running} jobs run, and ${size.waiting} wait`);
    this.size = size;
  }
}

/** Runs jobs in the order in which they come, a few at once. */
export class BoundedQueue {
  readonly #size: QueueSize;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(size: QueueSize) {
    this.#size = size;
  }

  /**
   * Runs a job, and settles as it does. Rejects at once with `QueueFull` when too many wait. A job that waits is dropped
   * when `ended` aborts, and rejects with its reason; a job that runs keeps its place until it has settled.
   */
  async run<T>(job: () => Promise<T>, ended?: AbortSignal): Promise<T> {
    ended?.throwIfAborted();
    if (this.#running < this.#size.running) this.#running += 1;
    else await this.#wait(ended);
    try {
      return await job();
    } finally {
      this.#next();
    }
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  #wait(ended: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#size.waiting) throw new QueueFull(this.#size);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const drop = (): void => {
      this.#waiting.delete(begin);
      reject(ended?.reason as Error);
    };
    const begin = (): void => {
      ended?.removeEventListener('abort', drop);
      resolve();
    };
    ended?.addEventListener('abort', drop, { once: true });
    this.#waiting.add(begin);
    return promise;
  }

  /** Hands the place of a job that has settled to the one that waited longest. */
  #next(): void {
    const [begin] = this.#waiting;
    if (begin === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(begin);
    begin();
  }
}

/** A queue for each key, kept while it has jobs. */
export class BoundedQueues<Key> {
  readonly #queues = new Map<Key, BoundedQueue>();
  readonly #size: QueueSize;

  constructor(size: QueueSize) {
    this.#size = size;
  }

  async run<T>(key: Key, job: () => Promise<T>, ended?: AbortSignal): Promise<T> {
    const queue = this.#queues.get(key) ?? new BoundedQueue(this.#size);
    this.#queues.set(key, queue);
    try {
      return await queue.run(job, ended);
    } finally {
      if (queue.running === 0) this.#queues.delete(key);
    }
  }

  /** The jobs of all keys that run. */
  get running(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.running, 0);
  }
}
