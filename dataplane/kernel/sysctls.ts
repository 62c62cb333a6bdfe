import { readFileSync, writeFileSync } from 'node:fs';

/** Sysctls of the network namespace, by their path under /proc/sys. */
export interface Sysctls {
  /** Returns null if the kernel has no such setting, because its module is not loaded. */
  read(name: string): number | null;
  write(name: string, value: number): void;
}

/** Sysctls of the network namespace of this process. */
export function createSysctls(): Sysctls {
  return {
    read: (name) => {
      try {
        return Number(readFileSync(`/proc/sys/${name}`, 'utf8'));
      } catch {
        return null;
      }
    },
    write: (name, value) => writeFileSync(`/proc/sys/${name}`, `${value}\n`),
  };
}
