import type { Descriptor } from './bpf.ts';
import { addressOfPointer, errno, libc, SystemError, viewOf } from '../native.ts';

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 1;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

export interface MappedMemory {
  readonly view: Uint8Array;
  /** The view is invalid afterwards. */
  unmap(): void;
}

/** Maps the memory of a BPF map into this process. `offset` and `length` in bytes. Throws `SystemError`. */
export function mapMemory(
  map: Descriptor,
  { offset, length, writable }: { offset: number; length: number; writable: boolean },
): MappedMemory {
  const mmap = libc().func(
    'void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset)',
  );
  const munmap = libc().func('int munmap(void *address, size_t length)');
  const protection = PROT_READ | (writable ? PROT_WRITE : 0);
  const pointer: unknown = mmap(null, length, protection, MAP_SHARED, map, offset);
  if (addressOfPointer(pointer) === MAP_FAILED) throw new SystemError('mmap', errno());
  return { view: viewOf(pointer, length), unmap: () => void munmap(pointer, length) };
}
