import { readFileSync } from 'node:fs';

/** The time since boot. It never jumps, and every process reads the same. */
export interface MachineClock {
  /** The boot id: times of different boots cannot be compared. */
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
    // Without a boot id every process counts as a boot of its own.
    return `unknown-${process.pid}-${Date.now()}`;
  }
}
