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
  /** `spent`: the file exceeded the limit of time or memory. */
  | { readonly ok: false; readonly reason: string; readonly spent?: true };

process.on('message', (order: EditOrder) => send(answer(order)));
// It ends with its agent.
process.on('disconnect', () => process.exit());
send('ready');

function send(message: EditAnswer | 'ready'): void {
  process.send?.(message);
}

function answer({ parser, text, edits }: EditOrder): EditAnswer {
  try {
    return { ok: true, ...EDITORS[parser](text, edits) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, reason: error.message };
    // The parsers recurse, so deep nesting ends here.
    if (error instanceof RangeError) return { ok: false, reason: 'it is nested too deeply' };
    return { ok: false, reason: `it cannot be edited: ${(error as Error).message}` };
  }
}
