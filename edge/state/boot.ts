import { readFileSync, readlinkSync } from 'node:fs';

/** What the kernel remembers ends with a boot, and is of one network namespace: state on disk that speaks of it names both. */
export interface KernelPlace {
  readonly boot: string;
  readonly namespace: string;
}

/** Of this thread, now. Throws what the file system says. */
export function kernelPlace(): KernelPlace {
  return {
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    namespace: readlinkSync('/proc/thread-self/ns/net'),
  };
}

export function isHere({ boot, namespace }: KernelPlace): boolean {
  const here = kernelPlace();
  return boot === here.boot && namespace === here.namespace;
}
