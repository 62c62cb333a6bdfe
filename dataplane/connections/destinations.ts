import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

/** Above this number, the single addresses are not kept. */
const MAX_ADDRESSES = 4_096;

/**
 * A set of addresses that is looked up for every connection of a host. It only grows; with very many addresses it
 * includes all.
 */
export class Destinations {
  readonly #singles: Record<Family, Set<number | string>> = { 4: new Set(), 6: new Set() };
  readonly #prefixes: Record<Family, PrefixIndex<true> | null> = { 4: null, 6: null };
  #cidrs: Cidr[] = [];
  #isAll = false;

  get empty(): boolean {
    return !this.#isAll && this.#cidrs.length === 0;
  }

  /** Includes every address. */
  addAll(): void {
    this.#isAll = true;
    this.#cidrs = [];
  }

  add(cidr: Cidr): void {
    const { family, value, length } = cidr;
    if (this.#isAll) return;
    if (this.#cidrs.length >= MAX_ADDRESSES) return this.addAll();
    this.#cidrs.push(cidr);
    if (length < BITS[family]) {
      const prefixes = (this.#prefixes[family] ??= new PrefixIndex());
      prefixes.add(cidr, true);
    } else if (family === 4) this.#singles[4].add(Number(value));
    else this.#singles[6].add(value.toString(16).padStart(32, '0'));
  }

  addFrom(other: Destinations): void {
    if (other.#isAll) this.addAll();
    else for (const cidr of other.#cidrs) this.add(cidr);
  }

  /** `bytes` are in network order. */
  has(family: Family, bytes: Buffer): boolean {
    if (this.#isAll) return true;
    const key = family === 4 ? bytes.readUInt32BE(0) : bytes.toString('hex');
    if (this.#singles[family].has(key)) return true;
    const prefixes = this.#prefixes[family];
    if (prefixes === null) return false;
    const value = family === 4 ? BigInt(key) : BigInt(`0x${key}`);
    return prefixes.covering({ family, value, length: BITS[family] }).length > 0;
  }
}
