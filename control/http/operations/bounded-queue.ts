/** How many jobs run at once, and how many may wait behind them. */
export interface QueueSize {
  readonly running: number;
  readonly waiting: number;
}

/** Who waits for a job; `ended` is read only when it has to. */
export interface Waiter {
  readonly ended: AbortSignal;
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
  readonly #hasSpare: () => boolean;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** `hasSpare`: whether one more than `size.running` may run at the moment. */
  constructor(size: QueueSize, hasSpare: () => boolean = () => false) {
    this.#size = size;
    this.#hasSpare = hasSpare;
  }

  /**
   * Runs a job, and settles as it does. Rejects at once with `QueueFull` when too many wait. A job that waits is dropped
   * when its waiter's `ended` aborts, and rejects with its reason; a job that runs keeps its place until it has settled.
   */
  async run<T>(job: () => Promise<T>, waiter?: Waiter): Promise<T> {
    if (this.#mayBegin()) this.#running += 1;
    else await this.#wait(waiter?.ended);
    try {
      return await job();
    } finally {
      this.#running -= 1;
      this.begin();
    }
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Begins the jobs that waited longest, as many as there are places. */
  begin(): void {
    for (const job of this.#waiting) {
      if (!this.#mayBegin()) return;
      this.#waiting.delete(job);
      this.#running += 1;
      job();
    }
  }

  #mayBegin(): boolean {
    return this.#running < this.#size.running || this.#hasSpare();
  }

  #wait(ended: AbortSignal | undefined): Promise<void> {
    ended?.throwIfAborted();
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
}

/**
 * A queue for each key, kept while it has jobs. A key may have more than its own places while all together have fewer
 * than `spare`, so what nobody else needs is used, and the first jobs of another key never wait for those.
 */
export class BoundedQueues<Key> {
  readonly #queues = new Map<Key, BoundedQueue>();
  readonly #size: QueueSize;
  readonly #spare: number;

  constructor(size: QueueSize, { spare = 0 }: { readonly spare?: number } = {}) {
    this.#size = size;
    this.#spare = spare;
  }

  async run<T>(key: Key, job: () => Promise<T>, waiter?: Waiter): Promise<T> {
    const queue = this.#queues.get(key) ?? this.#open(key);
    try {
      return await queue.run(job, waiter);
    } finally {
      if (queue.running + queue.waiting === 0) this.#queues.delete(key);
      if (this.#hasSpare()) this.#useSpare();
    }
  }

  /** The jobs of all keys that run. */
  get running(): number {
    let running = 0;
    for (const queue of this.#queues.values()) running += queue.running;
    return running;
  }

  #open(key: Key): BoundedQueue {
    const queue = new BoundedQueue(this.#size, () => this.#hasSpare());
    this.#queues.set(key, queue);
    return queue;
  }

  #hasSpare(): boolean {
    return this.#spare > 0 && this.running < this.#spare;
  }

  /** To those that have least. */
  #useSpare(): void {
    const queues = [...this.#queues.values()].filter(({ waiting }) => waiting > 0);
    for (const queue of queues.toSorted((a, b) => a.running - b.running)) queue.begin();
  }
}
