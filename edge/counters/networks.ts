import type { Address, Family } from '@portcullis/core/net/address.ts';
import { BITS } from '@portcullis/core/net/address.ts';
import { type Cidr, formatNetwork, networkOf } from '@portcullis/core/net/cidr.ts';

/** Networks by what they are around: the longest is found by one look-up for each length that there is. */
export class Networks<T> {
  readonly #lengths: Readonly<Record<Family, readonly number[]>>;
  readonly #byLength: ReadonlyMap<string, ReadonlyMap<bigint, T>>;

  constructor(entries: Iterable<readonly [Cidr, T]>) {
    const lengths: Record<Family, Set<number>> = { 4: new Set(), 6: new Set() };
    const byLength = new Map<string, Map<bigint, T>>();
    for (const [{ family, value, length }, one] of entries) {
      lengths[family].add(length);
      const name = `${family} ${length}`;
      const networks = byLength.get(name) ?? new Map<bigint, T>();
      byLength.set(name, networks.set(value, one));
    }
    const longestFirst = (family: Family) => [...lengths[family]].toSorted((a, b) => b - a);
    this.#lengths = { 4: longestFirst(4), 6: longestFirst(6) };
    this.#byLength = byLength;
  }

  /** What the longest network around an address has; `below`: only networks shorter than that. */
  around(address: Address, below = Number.POSITIVE_INFINITY): T | null {
    const { family } = address;
    for (const length of this.#lengths[family]) {
      if (length >= below) continue;
      const { value } = networkOf(address, length);
      const found = this.#byLength.get(`${family} ${length}`)?.get(value);
      if (found !== undefined) return found;
    }
    return null;
  }
}

export function isAddress({ family, length }: Cidr): boolean {
  return length === BITS[family];
}

/** By canonical name, each once. */
export function byName(networks: readonly Cidr[]): Map<string, Cidr> {
  return new Map(networks.map((network) => [formatNetwork(network), network]));
}
