import { closeSync, writeSync } from 'node:fs';
import { errno, libc, SystemError } from './native.ts';

const MFD_CLOEXEC = 1;

let create: ((name: string, flags: number) => number) | null = null;

/**
 * A file without a name that holds this text, to be read from its beginning; whoever makes one closes its descriptor.
 * Throws `SystemError`, or `NativeUnavailable`.
 */
export function memoryFile(name: string, text: string): number {
  create ??= libc().func('int memfd_create(const char *name, uint32_t flags)');
  const fd = create(name, MFD_CLOEXEC);
  if (fd < 0) throw new SystemError('memfd_create', errno());
  try {
    const bytes = Buffer.from(text);
    // At a position: who reads it as its standard input begins where the descriptor stands.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
