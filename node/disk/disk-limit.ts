import type { DiskUse } from './measure.ts';

const MIB = 1024 * 1024;
const FAR_FACTOR = 1.25;
const FAR_BYTES = 64 * MIB;
/** Since when a server that runs is told to stop; null: it is not. */
export type OverSince = number | null;

export interface DiskStep {
  readonly overSince: OverSince;
  readonly action: 'none' | 'stop' | 'kill';
}

/**
 * Why a server may not run with what it has on the disk, as a sentence; null: it may. A limit of 0 is none. A folder
 * that cannot be measured to its end is over any limit: else a game could hide there what it writes.
 */
export function diskRefusal({ bytes, complete }: DiskUse, limitMib: number): string | null {
  if (limitMib === 0) return null;
  if (bytes > limitMib * MIB) {
    return `It has ${Math.ceil(bytes / MIB)} MiB on the disk and may have ${limitMib} MiB.`;
  }
  return complete ? null : 'Its folder is too deep or has too many files to be measured.';
}

/**
 * Whether it is so far past its limit that it is killed rather than asked: what fills a disk on purpose, or by a
 * mistake, does it faster than it would end.
 */
export function isFarOver({ bytes }: DiskUse, limitMib: number): boolean {
  return limitMib !== 0 && bytes > limitMib * MIB * FAR_FACTOR + FAR_BYTES;
}

/** What to do about a server after it was measured, or a while after it was told to stop. */
export function stepDisk(
  overSince: OverSince,
  {
    over,
    farOver,
    running,
    nowMs,
    killAfterMs,
  }: {
    readonly over: boolean;
    readonly farOver: boolean;
    readonly running: boolean;
    readonly nowMs: number;
    readonly killAfterMs: number;
  },
): DiskStep {
  if (!over || !running) return { overSince: null, action: 'none' };
  if (farOver) return { overSince: overSince ?? nowMs, action: 'kill' };
  if (overSince === null) return { overSince: nowMs, action: 'stop' };
  return { overSince, action: nowMs - overSince >= killAfterMs ? 'kill' : 'none' };
}
