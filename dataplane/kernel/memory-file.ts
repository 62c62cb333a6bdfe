import { closeSync, writeSync } from 'node:fs';
import { errno, libc, SystemError } from './native.ts';

const MFD_CLOEXEC = 1;

let create: ((name: string, flags: number) => number) | null = null;

/**
 * Makes an anonymous file with this text, positioned at its start. The caller closes the descriptor. Throws
 * `SystemError` or `NativeUnavailable`.
 */
export function memoryFile(name: string, text: string): number {
  create ??= libc().func('int memfd_create(const char *name, uint32_t flags)');
  const fd = create(name, MFD_CLOEXEC);
  if (fd < 0) throw new SystemError('memfd_create', errno());
  try {
    const bytes = Buffer.from(text);
    // Writes by position: a process that reads it as standard input starts at the descriptor's offset.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
