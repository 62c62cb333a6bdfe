import { statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
/** Source: TMPFS_MAGIC, include/uapi/linux/magic.h. */
const TMPFS = 0x01021994;
/** The required free space: many times that of all concurrent test databases. */
const ROOM_BYTES = 2 * 1024 ** 3;

/**
 * The folder for test databases: in memory if there is space, because creating hundreds of files takes several times as
 * long on disk. Tests kill processes, not machines, so nothing is lost. `TMPDIR` is obeyed.
 */
export function scratchRoot(): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    const { type, bavail, bsize } = statfsSync(IN_MEMORY);
    const fits = type === TMPFS && Math.min(bavail * bsize, freemem()) >= ROOM_BYTES;
    return fits ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
