import koffi from 'koffi';

/** A library of this host, its functions declared in C. */
export type Library = ReturnType<typeof koffi.load>;

/** Code of this host cannot be called: another platform, a libc of another kind, a library that is not there. */
export class NativeUnavailable extends Error {
  override readonly name = 'NativeUnavailable';
}

/** A system call said no. `code` is the name of its errno, such as `EPERM`. */
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

/** Of the last call that failed on this thread: read it before anything else is called. */
export function errno(): number {
  return koffi.errno();
}

/**
 * Where a buffer is, for structures that hold pointers. Good for as long as the caller keeps the buffer:
 * memory of a buffer does not move. Take buffers of `Buffer.alloc`, which no pool shares.
 */
export function addressOf(buffer: Uint8Array): bigint {
  return koffi.address(buffer);
}

/** A pointer that a library gave, as a number. */
export function addressOfPointer(pointer: unknown): bigint {
  return koffi.address(pointer);
}

/** Memory at a pointer as bytes that follow it; good until whoever owns it unmaps it. */
export function viewOf(pointer: unknown, length: number): Uint8Array {
  return new Uint8Array(koffi.view(pointer, length));
}

const ERRNO_NAMES = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
