import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { type Cidr, compareCidrs, formatNetwork, lastValue } from '@portcullis/core/net/cidr.ts';
import { isAddress } from '../networks.ts';

/** A stretch of addresses of which one network is the longest around them. */
export interface Piece {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  /** Name; null: addresses that are watched alone. */
  readonly network: string | null;
}

/** Watched networks as stretches that do not overlap. Addresses that are in a network too are part of that. Pure. */
export function piecesOf(networks: readonly Cidr[], family: Family): Piece[] {
  const own = networks.filter((one) => one.family === family).toSorted(compareCidrs);
  const pieces: Piece[] = [];
  const open: Cidr[] = [];
  let next = 0n;
  const add = (first: bigint, last: bigint, network: string | null): void => {
    if (first <= last) pieces.push({ family, first, last, network });
  };
  const close = (limit: bigint): void => {
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const last = lastValue(top);
      if (last >= limit) return;
      add(next, last, formatNetwork(top));
      next = last + 1n;
      open.pop();
    }
  };
  for (const one of own) {
    close(one.value);
    const containing = open.at(-1);
    if (isAddress(one)) {
      if (containing === undefined) add(one.value, one.value, null);
      continue;
    }
    if (containing !== undefined) add(next, one.value - 1n, formatNetwork(containing));
    next = one.value;
    open.push(one);
  }
  close(2n ** BigInt(BITS[family]));
  return pieces;
}
