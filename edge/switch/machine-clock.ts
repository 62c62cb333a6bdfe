import { readFileSync } from 'node:fs';

/** Time of this machine since its boot: it never jumps, and a new process reads the same one. */
export interface MachineClock {
  /** Which boot; moments of two boots cannot be compared. */
  readonly boot: string;
  nowMs(): number;
}

/** CLOCK_MONOTONIC, which Node reads as `hrtime`. */
export function createMachineClock(): MachineClock {
  return { boot: readBoot(), nowMs: () => Number(process.hrtime.bigint() / 1_000_000n) };
}

function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Then every process is a boot of its own: what is kept begins its time anew.
    return `unknown-${process.pid}-${Date.now()}`;
  }
}
