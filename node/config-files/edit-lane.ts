import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { EditAnswer, EditOrder } from './edit-worker.ts';

/**
 * Edits files in a thread of their own: what is in them is the game's, and a file that is made to take long, or much
 * memory, must cost nobody else anything. One thread for all servers, begun when there is something to do and ended
 * when there is nothing; a file that overstays its time ends with the thread.
 */
export class EditLane {
  private readonly limitMs: number;
  private worker: Worker | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(limitMs = 10_000) {
    this.limitMs = limitMs;
  }

  /** In the order they are asked. Never rejects. */
  edit(order: EditOrder): Promise<EditAnswer> {
    this.waiting += 1;
    const answer = this.last.then(() => this.run(order));
    this.last = answer.finally(() => {
      this.waiting -= 1;
      if (this.waiting === 0) this.end();
    });
    return answer;
  }

  private async run(order: EditOrder): Promise<EditAnswer> {
    const worker = (this.worker ??= this.begin());
    const signal = AbortSignal.timeout(this.limitMs);
    const answered = once(worker, 'message', { signal });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(order);
    try {
      const [answer] = (await answered) as [EditAnswer];
      return answer;
    } catch {
      this.end();
      const reason = signal.aborted
        ? 'it took too long to edit'
        : 'it takes too much memory to edit';
      return { ok: false, reason };
    }
  }

  private begin(): Worker {
    const worker = new Worker(new URL('edit-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
      // A debugger or a test's flags are no business of it.
      execArgv: [],
    });
    // `once` hears it too; without a listener of its own it would end the agent.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = null;
    });
    return worker;
  }

  private end(): void {
    const { worker } = this;
    this.worker = null;
    void worker?.terminate();
  }
}
