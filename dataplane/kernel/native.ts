import koffi from 'koffi';

/** A shared library. */
export type Library = ReturnType<typeof koffi.load>;

/** Native code cannot be called: another platform, another libc, or a missing library. */
export class NativeUnavailable extends Error {
  override readonly name = 'NativeUnavailable';
}

/** A failed system call. `code` is the name of its errno, such as `EPERM`. */
export class SystemError extends Error {
  override readonly name = 'SystemError';
  readonly code: string;
  constructor(call: string, errno: number) {
    const code = ERRNO_NAMES.get(errno) ?? `errno ${errno}`;
    super(`${call}: ${code}`);
    this.code = code;
  }
}

const loaded = new Map<string, Library>();

/** Loads a shared library once. Throws `NativeUnavailable`. */
export function loadLibrary(name: string): Library {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  try {
    const library = koffi.load(name);
    loaded.set(name, library);
    return library;
  } catch (cause) {
    throw new NativeUnavailable(`${name} cannot be loaded`, { cause });
  }
}

export const libc = (): Library => loadLibrary('libc.so.6');

/** The errno of the last failed call on this thread. Read it before any other call. */
export function errno(): number {
  return koffi.errno();
}

/**
 * The address of a buffer, for structures that hold pointers. Valid as long as the caller keeps the buffer, which
 * does not move. Use `Buffer.alloc`, which does not pool.
 */
export function addressOf(buffer: Uint8Array): bigint {
  return koffi.address(buffer);
}

/** The address of a pointer returned by a library. */
export function addressOfPointer(pointer: unknown): bigint {
  return koffi.address(pointer);
}

/** A view of memory at a pointer. Valid until the memory is unmapped. */
export function viewOf(pointer: unknown, length: number): Uint8Array {
  return new Uint8Array(koffi.view(pointer, length));
}

const ERRNO_NAMES = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
