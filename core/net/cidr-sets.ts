import { BITS, type Family } from './address.ts';
import { type Cidr, compareCidrs, lastValue } from './cidr.ts';

/** The smallest list of networks that covers `first` to `last`, both included. */
export function rangeToCidrs(family: Family, first: bigint, last: bigint): Cidr[] {
  const cidrs: Cidr[] = [];
  let next = first;
  while (next <= last) {
    let host = trailingZeros(next, BITS[family]);
    while (next + (1n << BigInt(host)) - 1n > last) host--;
    cidrs.push({ family, value: next, length: BITS[family] - host });
    next += 1n << BigInt(host);
  }
  return cidrs;
}

/** The smallest equivalent list of networks, sorted and without overlaps. */
export function mergeCidrs(list: readonly Cidr[]): Cidr[] {
  const sorted = list.toSorted(compareCidrs);
  const merged: Cidr[] = [];
  let open: { family: Family; first: bigint; last: bigint } | null = null;
  for (const cidr of sorted) {
    if (open !== null && open.family === cidr.family && cidr.value <= open.last + 1n) {
      const last = lastValue(cidr);
      if (last > open.last) open.last = last;
      continue;
    }
    if (open !== null) merged.push(...rangeToCidrs(open.family, open.first, open.last));
    open = { family: cidr.family, first: cidr.value, last: lastValue(cidr) };
  }
  if (open !== null) merged.push(...rangeToCidrs(open.family, open.first, open.last));
  return merged;
}

function trailingZeros(value: bigint, bits: number): number {
  if (value === 0n) return bits;
  let count = 0;
  while (((value >> BigInt(count)) & 1n) === 0n) count++;
  return count;
}
