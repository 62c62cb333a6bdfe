import { type DiskUse, ENTRY_BYTES } from './measure.ts';

const MIB = 1024 * 1024;
const FAR_FACTOR = 1.25;
const FAR_BYTES = 64 * MIB;
/** The time since when a running server is over its limit; null if it is not. */
export type OverSince = number | null;

export interface DiskStep {
  readonly overSince: OverSince;
  readonly action: 'none' | 'stop' | 'kill';
}

/** A file system of ext4 has an inode for each 16 KiB, so no server takes more of them than of the disk. */
const ENTRIES_PER_MIB = 64;
/** Small servers have many files too: a game of npm packages has 30,000. */
const LEAST_ENTRIES = 32_768;
const MOST_ENTRIES = 5_000_000;
const FAR_ENTRIES = 16_384;

/** The most files, folders and links of a server: its own limit, else what its disk allows. 0 is no limit. */
export function entryLimit(limitMib: number, limitEntries = 0): number {
  if (limitEntries > 0) return limitEntries;
  if (limitMib === 0) return Number.POSITIVE_INFINITY;
  return Math.min(Math.max(limitMib * ENTRIES_PER_MIB, LEAST_ENTRIES), MOST_ENTRIES);
}

/** The number of entries from which a server is far over its limit: none needs to be counted further. */
export function farEntries(limitMib: number, limitEntries = 0): number {
  return entryLimit(limitMib, limitEntries) * FAR_FACTOR + FAR_ENTRIES;
}

/**
 * Returns a sentence that says why a server may not run with its disk use, or null. A limit of 0 is no limit. A folder
 * that cannot be measured completely is over any limit: otherwise a game could hide files there.
 */
export function diskRefusal(
  { bytes, entries, complete }: DiskUse,
  limitMib: number,
  limitEntries = 0,
): string | null {
  if (limitMib === 0 && limitEntries === 0) return null;
  const most = entryLimit(limitMib, limitEntries);
  if (entries > most) {
    const by = limitEntries > 0 ? 'it may have' : `${limitMib} MiB of disk allow`;
    return `It has more than ${most} files and folders, which is the most that ${by}.`;
  }
  if (limitMib > 0 && bytes > limitMib * MIB) {
    const has = `It has ${Math.ceil(bytes / MIB)} MiB on the disk and may have ${limitMib} MiB.`;
    if (entries * ENTRY_BYTES < bytes / 2) return has;
    return `${has} Each of its ${entries} files and folders counts at least 4 KiB.`;
  }
  return complete ? null : 'Its folder is too deep or cannot be read, so it cannot be measured.';
}

/** Whether a server is killed at once instead of stopped: it may fill the disk before a stop would end it. */
export function isFarOver(
  { bytes, entries = 0 }: Pick<DiskUse, 'bytes'> & { readonly entries?: number },
  limitMib: number,
  limitEntries = 0,
): boolean {
  const isLarge = limitMib > 0 && bytes > limitMib * MIB * FAR_FACTOR + FAR_BYTES;
  return isLarge || entries >= farEntries(limitMib, limitEntries);
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
