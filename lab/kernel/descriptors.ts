import { readdirSync } from 'node:fs';
import { closeDescriptor, type Descriptor } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { errno, libc, SystemError } from '@portcullis/dataplane/kernel/native.ts';

/** Source of both numbers, the same on all processors: include/uapi/asm-generic/unistd.h. */
const PIDFD_OPEN = 434;
const PIDFD_GETFD = 438;

/** Shows those descriptors of a process that are `wanted`, while `use` runs. As somebody with the rights of root could. */
export function withDescriptorsOf<T>(
  pid: number,
  wanted: (fd: string) => boolean,
  use: (descriptors: readonly Descriptor[]) => T,
): T {
  const call = libc().func('long syscall(long number, long a, long b, long c)') as (
    ...numbers: number[]
  ) => number;
  const checked = (result: number): number => {
    if (result < 0) throw new SystemError('pidfd', errno());
    return result;
  };
  const process = checked(call(PIDFD_OPEN, pid, 0, 0));
  const found: Descriptor[] = [];
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      if (wanted(fd)) found.push(checked(call(PIDFD_GETFD, process, Number(fd), 0)));
    }
    return use(found);
  } finally {
    for (const descriptor of [process, ...found]) closeDescriptor(descriptor);
  }
}
