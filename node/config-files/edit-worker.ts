import { parentPort } from 'node:worker_threads';
import { type Edit, type Edited, Unreadable } from './editors/edit.ts';
import { EDITORS } from './editors/editors.ts';

/** What the agent asks of its worker, and what it gets. */
export interface EditOrder {
  readonly parser: keyof typeof EDITORS;
  readonly text: string;
  readonly edits: readonly Edit[];
}
export type EditAnswer =
  | ({ readonly ok: true } & Edited)
  | { readonly ok: false; readonly reason: string };

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on('message', (order: EditOrder) => parentPort?.postMessage(answer(order)));

function answer({ parser, text, edits }: EditOrder): EditAnswer {
  try {
    return { ok: true, ...EDITORS[parser](text, edits) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, reason: error.message };
    // The parsers recurse: what is nested too deeply ends so.
    if (error instanceof RangeError) return { ok: false, reason: 'it is nested too deeply' };
    return { ok: false, reason: `it cannot be edited: ${(error as Error).message}` };
  }
}
