import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Why an order has no answer: no thread could be begun, it took too long, or it ended its thread. */
export type ThreadFailure = 'begin' | 'time' | 'ended';

export type ThreadAnswer<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly failure: ThreadFailure };

export interface ThreadOptions {
  /** The time limit of one order; its thread is ended then. */
  readonly limitMs: number;
  /** An idle thread uses memory, and takes 0.1 s to begin. */
  readonly idleMs?: number;
  readonly heapMib: number;
}

const BEGIN_MS = 60_000;

/**
 * A thread of this process for one kind of work, which begins on demand and ends when it is idle. Its module posts a
 * message when it is ready, and then one for each order. What an order does to the thread ends the thread and nothing
 * else.
 */
export class WorkThread<Order, Answer> {
  readonly #module: URL;
  readonly #options: ThreadOptions;
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(module: URL, options: ThreadOptions) {
    this.#module = module;
    this.#options = options;
  }

  /** One order at a time, in the order of the calls. Never rejects. */
  run(order: Order): Promise<ThreadAnswer<Answer>> {
    this.#waiting += 1;
    clearTimeout(this.#idle);
    const answer = this.#last.then(() => this.#ask(order));
    this.#last = answer.finally(() => {
      this.#waiting -= 1;
      const { idleMs = 1_000 } = this.#options;
      if (this.#waiting === 0) this.#idle = setTimeout(() => void this.end(), idleMs);
      this.#idle?.unref();
    });
    return answer;
  }

  /** Ends the thread; the next order begins another. */
  async end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  async #ask(order: Order): Promise<ThreadAnswer<Answer>> {
    let limit: AbortSignal | null = null;
    try {
      const worker = await this.#begin();
      limit = AbortSignal.timeout(this.#options.limitMs);
      const answered = once(worker, 'message', { signal: limit });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage(order);
      const [answer] = (await answered) as [Answer];
      return { ok: true, answer };
    } catch {
      void this.end();
      if (limit === null) return { ok: false, failure: 'begin' };
      return { ok: false, failure: limit.aborted ? 'time' : 'ended' };
    }
  }

  /** The begin of the thread does not count against the time limit of the order. */
  async #begin(): Promise<Worker> {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#module, {
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMib, stackSizeMb: 4 },
      // Without the flags of a debugger or a test.
      execArgv: [],
    });
    // `once` receives it too; without a listener the error would end the process.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    this.#worker = worker;
    await once(worker, 'message', { signal: AbortSignal.timeout(BEGIN_MS) });
    worker.unref();
    return worker;
  }
}
