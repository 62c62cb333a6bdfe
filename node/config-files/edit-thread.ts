import { WorkThread } from '@portcullis/link/thread.ts';
import type { EditAnswer, EditOrder } from './edit-worker.ts';

const FAILURES = {
  begin: { ok: false, reason: 'no thread could be begun to edit it' },
  time: { ok: false, reason: 'it took too long to edit', spent: true },
  ended: { ok: false, reason: 'it takes too much memory to edit', spent: true },
} as const satisfies Record<string, EditAnswer>;

/**
 * Edits files in a separate thread, so that a hostile file that takes much time or memory does not affect the agent.
 * All servers share one thread. A file above the time limit is aborted by terminating the thread.
 */
export class EditThread {
  readonly #thread: WorkThread<EditOrder, EditAnswer>;

  constructor(limitMs = 5_000) {
    const module = new URL('edit-worker.ts', import.meta.url);
    this.#thread = new WorkThread(module, { limitMs, heapMib: 256 });
  }

  /** In the order of the calls. Never rejects. */
  async edit(order: EditOrder): Promise<EditAnswer> {
    const answer = await this.#thread.run(order);
    return answer.ok ? answer.answer : FAILURES[answer.failure];
  }
}
