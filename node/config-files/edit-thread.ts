import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { EditAnswer, EditOrder } from './edit-worker.ts';

/** A thread takes 0.1 s to start, and an idle one uses memory. */
const IDLE_MS = 1_000;
const BEGIN_MS = 60_000;

/**
 * Edits files in a separate thread, so that a hostile file that takes much time or memory does not affect the agent.
 * All servers share one thread, which starts on demand and stops when idle. A file above the time limit is aborted by
 * terminating the thread.
 */
export class EditThread {
  private readonly limitMs: number;
  private worker: Worker | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private idle: NodeJS.Timeout | undefined;

  constructor(limitMs = 5_000) {
    this.limitMs = limitMs;
  }

  /** In the order of the calls. Never rejects. */
  edit(order: EditOrder): Promise<EditAnswer> {
    this.waiting += 1;
    clearTimeout(this.idle);
    const answer = this.last.then(() => this.run(order));
    this.last = answer.finally(() => {
      this.waiting -= 1;
      if (this.waiting === 0) this.idle = setTimeout(() => this.end(), IDLE_MS);
      this.idle?.unref();
    });
    return answer;
  }

  private async run(order: EditOrder): Promise<EditAnswer> {
    let limit: AbortSignal | null = null;
    try {
      const worker = await this.begin();
      limit = AbortSignal.timeout(this.limitMs);
      const answered = once(worker, 'message', { signal: limit });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage(order);
      const [answer] = (await answered) as [EditAnswer];
      return answer;
    } catch {
      this.end();
      if (limit === null) return { ok: false, reason: 'no thread could be begun to edit it' };
      const reason = limit.aborted
        ? 'it took too long to edit'
        : 'it takes too much memory to edit';
      return { ok: false, reason, spent: true };
    }
  }

  /** The start of the thread does not count against the time limit of the file. */
  private async begin(): Promise<Worker> {
    if (this.worker !== null) return this.worker;
    const worker = new Worker(new URL('edit-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
      // Without the flags of a debugger or a test.
      execArgv: [],
    });
    // `once` receives it too; without a listener the error would end the agent.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = null;
    });
    this.worker = worker;
    await once(worker, 'message', { signal: AbortSignal.timeout(BEGIN_MS) });
    worker.unref();
    return worker;
  }

  private end(): void {
    const { worker } = this;
    this.worker = null;
    void worker?.terminate();
  }
}
