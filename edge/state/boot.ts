import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Kernel state is lost at reboot and belongs to one network namespace, so state files record the boot id and the
 * namespace.
 */
export interface KernelIdentity {
  readonly boot: string;
  readonly namespace: string;
}

/** The present boot and namespace of this thread. Throws the errors of the file system. */
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
