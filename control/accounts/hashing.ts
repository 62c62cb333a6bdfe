import { availableParallelism } from 'node:os';
import { WorkThread } from '@portcullis/link/thread.ts';
import { BoundedQueue, QueueFull } from '../http/operations/bounded-queue.ts';
import { presentRequest } from '../http/operations/request-end.ts';
import { Problem } from '../problem.ts';
import type { HashAnswer, HashOrder } from './hash-worker.ts';

/** A hash takes about 0.1 s of a core and 46 MiB, and anybody may ask for one: a core is left for all else. */
const SIZE = { running: Math.max(1, Math.min(2, availableParallelism() - 1)), waiting: 20 };
const RETRY_AFTER_SECONDS = 2;
const LIMIT_MS = 30_000;

const MODULE = new URL('hash-worker.ts', import.meta.url);

/** Hashing of this process: a few threads of its own, behind a queue with an end. */
export const hashing = {
  size: SIZE,
  queue: new BoundedQueue(SIZE),
  threads: Array.from(
    { length: SIZE.running },
    () => new WorkThread<HashOrder, HashAnswer>(MODULE, { limitMs: LIMIT_MS, heapMib: 32 }),
  ),
} as const;

/** Estimating how easily a password is guessed, in a thread of its own: a hostile one takes a second. */
export const estimating = {
  queue: new BoundedQueue({ running: 1, waiting: 20 }),
  thread: new WorkThread<string, number>(new URL('password-worker.ts', import.meta.url), {
    limitMs: LIMIT_MS,
    heapMib: 128,
  }),
} as const;

/** Threads: those of `hashing.threads` that have no order: as many as may run at once. */
const idle = [...hashing.threads];

/**
 * Derives an argon2id hash. Throws 503 `unavailable` when too many wait. A request that ended while it waited is
 * dropped, so that nobody hashes what nobody reads.
 */
export async function deriveHash(order: HashOrder): Promise<Buffer> {
  try {
    return await hashing.queue.run(() => onThread(order), presentRequest());
  } catch (error) {
    if (error instanceof QueueFull) throw tooMany(error);
    throw error;
  }
}

async function onThread(order: HashOrder): Promise<Buffer> {
  const thread = idle.pop();
  if (thread === undefined) throw new Error('more hashes run than there are threads');
  try {
    const made = await thread.run(order);
    if (!made.ok) throw new Error(`a password was not hashed: its thread failed (${made.failure})`);
    if (!made.answer.ok) throw new Error(`a password was not hashed: ${made.answer.reason}`);
    return Buffer.from(made.answer.tag);
  } finally {
    idle.push(thread);
  }
}

/** Ends the threads. */
export async function releaseHashing(): Promise<void> {
  const threads = [...hashing.threads, estimating.thread];
  await Promise.all(threads.map((thread) => thread.end()));
}

export function tooMany(cause: Error): Problem {
  return new Problem(
    'unavailable',
    `Too many passwords are being checked at the moment. Try again in ${RETRY_AFTER_SECONDS} s.`,
    { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) }, cause },
  );
}
