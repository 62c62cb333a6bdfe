import { lstatSync, renameSync } from 'node:fs';
import koffi from 'koffi';

/** Sources: include/uapi/linux/fcntl.h, include/uapi/linux/fs.h. */
const AT_FDCWD = -100;
const RENAME_NOREPLACE = 1;
const { EEXIST, EINVAL, ENOSYS } = koffi.os.errno;

type RenameAt2 = (from: number, path: Buffer, to: number, target: Buffer, flags: number) => number;
let renameat2: RenameAt2 | null | undefined;

/**
 * Renames a file or folder, and fails with EEXIST if there is anything of the new name. The kernel decides that in one
 * step. Where the file system cannot, it is two steps, and a name that a game makes between them is replaced.
 */
export function renameToFree(from: Buffer, to: Buffer): void {
  renameat2 ??= open();
  if (renameat2 !== null) {
    const end = Buffer.alloc(1);
    const paths = [Buffer.concat([from, end]), Buffer.concat([to, end])] as const;
    if (renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_NOREPLACE) === 0) return;
    const number = koffi.errno();
    if (number === EEXIST) throw failure('EEXIST');
    // Any other failure is that of the rename below too, which words it.
    if (number !== EINVAL && number !== ENOSYS) return renameSync(from, to);
  }
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) throw failure('EEXIST');
  renameSync(from, to);
}

function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: rename`), { code });
}

function open(): RenameAt2 | null {
  try {
    return koffi
      .load('libc.so.6')
      .func(
        'int renameat2(int from, const void *path, int to, const void *target, unsigned int flags)',
      ) as RenameAt2;
  } catch {
    return null;
  }
}
