import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { compareCidrs, lastValue } from '@portcullis/core/net/cidr.ts';
import type { CompiledTarget } from './compiled.ts';

export interface Interval {
  readonly range: string;
  readonly chain: string;
}

/** A target of the sweep. Without a verdict, it is a hole in the containing prefix. */
interface SweepTarget {
  readonly target: CompiledTarget;
  readonly chain: string | null;
}

/**
 * Splits nested prefixes into disjoint intervals, each with the verdict of the longest matching prefix. It sweeps over
 * the first addresses of the prefixes, with the open prefixes on a stack. `enter` returns the verdict of a target,
 * given that of the containing one; undefined ignores the target.
 */
export function intervalsOf(
  targets: readonly CompiledTarget[],
  family: Family,
  enter: (target: CompiledTarget, around: CompiledTarget | null) => string | null | undefined,
): Interval[] {
  const sorted = targets
    .filter((target) => target.cidr.family === family)
    .toSorted((a, b) => compareCidrs(a.cidr, b.cidr));
  const intervals: Interval[] = [];
  const open: SweepTarget[] = [];
  let next = 0n;
  const add = (first: bigint, last: bigint, { chain }: SweepTarget): void => {
    if (first > last || chain === null) return;
    intervals.push({ range: rangeText(family, first, last), chain });
  };
  const closeBefore = (limit: bigint): void => {
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const last = lastValue(top.target.cidr);
      if (last >= limit) return;
      add(next, last, top);
      next = last + 1n;
      open.pop();
    }
  };
  for (const target of sorted) {
    closeBefore(target.cidr.value);
    const around = open.at(-1);
    const chain = enter(target, around?.target ?? null);
    if (chain === undefined) continue;
    if (around !== undefined) add(next, target.cidr.value - 1n, around);
    next = target.cidr.value;
    open.push({ target, chain });
  }
  closeBefore(1n << BigInt(BITS[family]));
  return intervals;
}

function rangeText(family: Family, first: bigint, last: bigint): string {
  const text = (value: bigint): string => formatAddress({ family, value });
  return first === last ? text(first) : `${text(first)}-${text(last)}`;
}
