import type { DiskUse } from './measure.ts';

const MIB = 1024 * 1024;
const FAR_FACTOR = 1.25;
const FAR_BYTES = 64 * MIB;
/** The time since when a running server is over its limit; null if it is not. */
export type OverSince = number | null;

export interface DiskStep {
  readonly overSince: OverSince;
  readonly action: 'none' | 'stop' | 'kill';
}

/**
 * Returns a sentence that says why a server may not run with its disk use, or null. A limit of 0 is no limit. A folder
 * that cannot be measured completely is over any limit: otherwise a game could hide files there.
 */
export function diskRefusal({ bytes, complete }: DiskUse, limitMib: number): string | null {
  if (limitMib === 0) return null;
  if (bytes > limitMib * MIB) {
    return `It has ${Math.ceil(bytes / MIB)} MiB on the disk and may have ${limitMib} MiB.`;
  }
  return complete ? null : 'Its folder is too deep or has too many files to be measured.';
}

/** Whether a server is killed at once instead of stopped: it may fill the disk before a stop would end it. */
export function isFarOver({ bytes }: Pick<DiskUse, 'bytes'>, limitMib: number): boolean {
  return limitMib !== 0 && bytes > limitMib * MIB * FAR_FACTOR + FAR_BYTES;
}

/** Decides what to do with a server after a measurement. */
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
