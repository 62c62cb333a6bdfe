import { readFileSync, writeFileSync } from 'node:fs';

/** Settings of this network namespace, by their path under /proc/sys. */
export interface Sysctls {
  /** Null: this kernel has no such setting (the module is not loaded). */
  read(name: string): number | null;
  write(name: string, value: number): void;
}

/** Those of the network namespace that this process is in. */
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
