import { type Edit, type Edited, Unreadable } from './editors/edit.ts';
import { EDITORS } from './editors/editors.ts';

/** The requests of the agent to its editing process, and the answers. */
export interface EditOrder {
  readonly parser: keyof typeof EDITORS;
  readonly text: string;
  readonly edits: readonly Edit[];
}
export type EditAnswer =
  | ({ readonly ok: true } & Edited)
  /** `spent`: the file exceeded the limit of time, memory or size. */
  | { readonly ok: false; readonly reason: string; readonly spent?: true };

/**
 * The most bytes of an edited file: indentation may make a small file of nested lists thousands of times as large,
 * which the agent would hold and write.
 */
const MAX_EDITED = 16 * 1024 * 1024;

process.on('message', (order: EditOrder) => send(answer(order)));
// It ends with its agent.
process.on('disconnect', () => process.exit());
send('ready');

function send(message: EditAnswer | 'ready'): void {
  process.send?.(message);
}

function answer({ parser, text, edits }: EditOrder): EditAnswer {
  try {
    const edited = EDITORS[parser](text, edits);
    if (edited.text.length <= MAX_EDITED) return { ok: true, ...edited };
    return { ok: false, reason: 'it would be larger than 16 MiB', spent: true };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, reason: error.message };
    // The parsers recurse, so deep nesting ends here.
    if (error instanceof RangeError) return { ok: false, reason: 'it is nested too deeply' };
    return { ok: false, reason: `it cannot be edited: ${(error as Error).message}` };
  }
}
