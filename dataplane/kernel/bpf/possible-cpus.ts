import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

let known: number | null = null;

/** Processors that this host could have: so many values has each element of a per-CPU map. */
export function possibleCpus(): number {
  known ??= countCpus();
  return known;
}

function countCpus(): number {
  try {
    const last = /(\d+)\s*$/.exec(readFileSync('/sys/devices/system/cpu/possible', 'utf8'))?.[1];
    return Number(last) + 1;
  } catch {
    return availableParallelism();
  }
}
