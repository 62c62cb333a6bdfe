import { argon2Sync } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';

/** An argon2id hash to derive. */
export interface HashOrder {
  readonly message: string;
  readonly nonce: Uint8Array;
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly tagLength: number;
}
export type HashAnswer =
  | { readonly ok: true; readonly tag: Uint8Array }
  | { readonly ok: false; readonly reason: string };

// Of this thread alone: the answers of all others come first.
try {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
  // Where that is not allowed, hashes are as important as answers.
}
parentPort?.on('message', (order: HashOrder) => send(derive(order)));
send('ready');

function send(message: HashAnswer | 'ready'): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

/** Here, and not on the pool of threads that compresses answers and looks up names. */
function derive(order: HashOrder): HashAnswer {
  try {
    return { ok: true, tag: argon2Sync('argon2id', order) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}
