import { createTransfers, type FileTransfers } from '@portcullis/client/transfers.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { accessOf, clientOf } from '../../../connect.ts';
import { describePathFailure, usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { printable } from '../../../output.ts';
import { Progress } from '../../../progress.ts';

/** Files of a folder that are sent at once. */
export const AT_ONCE = 4;
const MIB = 1024 ** 2;
const SHOW_MS = 200;

/** A client for calls, and one for streams, of the same key. */
export function connectTransfers(options: CallOptions): {
  readonly client: KeyClient;
  readonly transfers: FileTransfers;
} {
  const access = accessOf(options);
  const transfers = createTransfers({ baseUrl: access.url, key: access.key, links: true });
  return { client: clientOf(access), transfers };
}

/** How many bytes of how many were moved, and how fast. */
export class TransferProgress {
  readonly #progress: Progress;
  readonly #total: number;
  readonly #startedAtMs = performance.now();
  #done = 0;
  #moved = 0;
  #shownAtMs = 0;

  constructor(options: CallOptions, total: number) {
    this.#progress = new Progress(options);
    this.#total = total;
  }

  /** Counts bytes; without a path those that were there before. */
  add(bytes: number, path?: string): void {
    this.#done += bytes;
    if (path === undefined) return;
    this.#moved += bytes;
    this.set(path, 0);
  }

  /** Corrects the count by bytes that were lost or found, and shows the line. */
  set(path: string, difference: number): void {
    this.#done += difference;
    const nowMs = performance.now();
    if (nowMs - this.#shownAtMs < SHOW_MS) return;
    this.#shownAtMs = nowMs;
    const perSecond = this.#moved / MIB / ((nowMs - this.#startedAtMs) / 1_000);
    const done = `${Math.floor(this.#done / MIB)} of ${Math.ceil(this.#total / MIB)} MiB`;
    this.#progress.show(`${done}, ${perSecond.toFixed(1)} MiB/s  ${printable(path)}`);
  }

  end(): void {
    this.#progress.end();
  }
}

/** Runs work on each item, a few at a time. After a failure no other one begins. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let hasFailed = false;
  const runner = async (): Promise<void> => {
    for (const item of rest) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runner));
}

/** Words what a local path cannot be used for. */
export function onPath<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const why = describePathFailure(error);
    if (why === null) throw error;
    throw usageError(`${file} cannot be used: ${why}`);
  }
}
