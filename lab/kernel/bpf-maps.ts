import { readFileSync } from 'node:fs';
import { type Descriptor, mapShapeOf, nextKey } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { withDescriptorsOf } from './descriptors.ts';

/** Shows every BPF map that a process holds, while `use` runs. */
export function withMapsOf<T>(pid: number, use: (maps: readonly Descriptor[]) => T): T {
  return withDescriptorsOf(pid, (fd) => isMap(pid, fd), use);
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
