import { BITS, type Family } from './address.ts';
import type { Cidr } from './cidr.ts';

/** Items by prefix. Finds all items whose prefix contains a given one, with one look-up per prefix length. */
export class PrefixIndex<T> {
  readonly #levels: Record<Family, Map<number, Map<bigint, T[]>>> = { 4: new Map(), 6: new Map() };
  #lengths: Record<Family, number[]> = { 4: [], 6: [] };

  add(prefix: Cidr, item: T): void {
    const levels = this.#levels[prefix.family];
    let level = levels.get(prefix.length);
    if (level === undefined) {
      level = new Map();
      levels.set(prefix.length, level);
      this.#lengths[prefix.family] = [...levels.keys()].toSorted((a, b) => a - b);
    }
    const key = prefix.value >> BigInt(BITS[prefix.family] - prefix.length);
    const items = level.get(key);
    if (items === undefined) level.set(key, [item]);
    else items.push(item);
  }

  /** Removes every item of exactly this prefix. */
  delete(prefix: Cidr): void {
    const key = prefix.value >> BigInt(BITS[prefix.family] - prefix.length);
    this.#levels[prefix.family].get(prefix.length)?.delete(key);
  }

  /** Every item whose prefix contains `inner` or equals it, the widest prefix first. */
  covering(inner: Cidr): T[] {
    const found: T[] = [];
    for (const length of this.#lengths[inner.family]) {
      if (length > inner.length) break;
      const key = inner.value >> BigInt(BITS[inner.family] - length);
      const items = this.#levels[inner.family].get(length)?.get(key);
      if (items !== undefined) found.push(...items);
    }
    return found;
  }
}
