import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { type Cidr, compareCidrs, formatNetwork, lastValue } from '@portcullis/core/net/cidr.ts';
import { isAddress } from '../networks.ts';

/** A range of addresses with the same longest network. */
export interface Piece {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  /** The network's name; null for addresses that are watched without a network. */
  readonly network: string | null;
}

/** Splits watched networks into ranges that do not overlap. Addresses inside a network belong to its range. Pure. */
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
