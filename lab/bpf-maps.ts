import { readdirSync, readFileSync } from 'node:fs';
import {
  closeDescriptor,
  type Descriptor,
  mapShapeOf,
  nextKey,
} from '@portcullis/edge/kernel/bpf.ts';
import { errno, libc, SystemError } from '@portcullis/edge/kernel/native.ts';

/** Source of both numbers, the same on all processors: include/uapi/asm-generic/unistd.h. */
const PIDFD_OPEN = 434;
const PIDFD_GETFD = 438;

/** Shows every BPF map that a process holds, while `use` runs. As somebody with the rights of root could. */
export function withMapsOf<T>(pid: number, use: (maps: readonly Descriptor[]) => T): T {
  const call = libc().func('long syscall(long number, long a, long b, long c)') as (
    ...numbers: number[]
  ) => number;
  const checked = (result: number): number => {
    if (result < 0) throw new SystemError('pidfd', errno());
    return result;
  };
  const process = checked(call(PIDFD_OPEN, pid, 0, 0));
  const maps: Descriptor[] = [];
  try {
    for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
      if (isMap(pid, fd)) maps.push(checked(call(PIDFD_GETFD, process, Number(fd), 0)));
    }
    return use(maps);
  } finally {
    for (const descriptor of [process, ...maps]) closeDescriptor(descriptor);
  }
}

/** Keys of every element; of arrays, every place. */
export function keysOf(map: Descriptor): Buffer[] {
  const { keySize } = mapShapeOf(map);
  const keys: Buffer[] = [];
  for (let next = Buffer.alloc(keySize); nextKey(map, keys.at(-1) ?? null, next); ) {
    keys.push(next);
    next = Buffer.alloc(keySize);
  }
  return keys;
}

/** False also of what was closed meanwhile. */
function isMap(pid: number, fd: string): boolean {
  try {
    return /^map_id:/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
  } catch {
    return false;
  }
}
