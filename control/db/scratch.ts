import { statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
/** Source: TMPFS_MAGIC, include/uapi/linux/magic.h. */
const TMPFS = 0x01021994;
/** Many times what the databases of all tests that run at once take, in the folder and in what the machine has left. */
const ROOM_BYTES = 2 * 1024 ** 3;

/**
 * Where tests put databases that go with them: in memory where there is room, for a database is hundreds of files, whose
 * making takes several times as long on a disk. Processes are killed in tests, machines are not: nothing is lost with it.
 * A `TMPDIR` is obeyed.
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
