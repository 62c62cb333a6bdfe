import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Kernel state is lost at reboot and belongs to one network namespace, so state files record the boot id and the
 * namespace.
 */
export interface KernelIdentity {
  readonly boot: string;
  readonly namespace: string;
}

/** The boot id and network namespace of this thread. Throws file system errors. */
export function kernelIdentity(): KernelIdentity {
  return {
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    namespace: readlinkSync('/proc/thread-self/ns/net'),
  };
}

export function isThisKernel({ boot, namespace }: KernelIdentity): boolean {
  const here = kernelIdentity();
  return boot === here.boot && namespace === here.namespace;
}
