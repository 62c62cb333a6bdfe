import { createHash } from 'node:crypto';
import { changedKeys } from '../../compile/changed-keys.ts';

/** The number of each verdict of one map, such as `goto shape_…`, in the syntax of nft. */
export type VerdictNumbers = ReadonlyMap<string, string>;

const BITS = 24;

/**
 * The numbers of these verdicts. A verdict that has a number keeps it, and no number in use gets another meaning, so
 * that maps can be changed before and after the verdicts. New numbers depend only on the verdicts, except that one of
 * two verdicts with equal hashes takes the next number: anybody may construct such rules. Then another process may
 * number them in another order, and writes the table anew.
 */
export function numbersFor(verdicts: Iterable<string>, before: VerdictNumbers): VerdictNumbers {
  const numbers = new Map<string, string>();
  const taken = new Set(before.values());
  for (const verdict of [...verdicts].toSorted()) {
    const number = before.get(verdict) ?? numberOf(verdict, taken);
    taken.add(number);
    numbers.set(verdict, number);
  }
  return numbers;
}

/**
 * A number that is a priority which queueing disciplines treat like 0, that of arriving packets: its last four bits, which
 * choose a band, are 0, and its first 16 are neither the handle of a discipline that the kernel numbers (from 8000:) nor
 * one that people choose. The priority of a forwarded IPv4 packet comes later, from its type of service.
 */
export function numberOf(verdict: string, taken: ReadonlySet<string> = new Set()): string {
  let hash = createHash('sha256')
    .update(verdict)
    .digest()
    .readUIntBE(0, BITS / 8);
  while (taken.has(numberText(hash))) hash = (hash + 1) % 2 ** BITS;
  return numberText(hash);
}

function numberText(hash: number): string {
  return `${(0x7000 | (hash >> 12)).toString(16)}:${((hash & 0xfff) << 4).toString(16)}`;
}

export interface VerdictChanges {
  /** Number and verdict. */
  readonly added: readonly (readonly [string, string])[];
  /** Numbers. */
  readonly removed: readonly string[];
}

/** Returns null if a number would change its meaning, or a verdict its number. */
export function verdictChanges(
  before: VerdictNumbers,
  after: VerdictNumbers,
): VerdictChanges | null {
  const added: [string, string][] = [];
  const removed: string[] = [];
  const known = new Set(before.values());
  for (const verdict of changedKeys(before, after).toSorted()) {
    const [old, now] = [before.get(verdict), after.get(verdict)];
    if (now !== undefined && (old !== undefined || known.has(now))) return null;
    if (old !== undefined) removed.push(old);
    if (now !== undefined) added.push([now, verdict]);
  }
  return { added, removed };
}
