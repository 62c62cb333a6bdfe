import { BITS, type Family } from './address.ts';
import { type Cidr, parseCidr } from './cidr.ts';

/** The number of cached results. */
const MAX_REMEMBERED = 131_072;

/** Finds the value of the longest prefix that contains an address or network. */
export class NearestScope<T> {
  readonly #levels: Record<Family, Map<number, Map<bigint, T>>> = { 4: new Map(), 6: new Map() };
  readonly #lengths: Record<Family, readonly number[]> = { 4: [], 6: [] };
  readonly #remembered = new Map<string, T | null>();

  /** `scopes` are addresses and networks; others are ignored. Of equal ones the last wins. */
  constructor(scopes: Iterable<readonly [scope: string, value: T]>) {
    for (const [scope, value] of scopes) this.set(scope, value);
  }

  set(scope: string, value: T): void {
    const cidr = parseCidr(scope);
    if (cidr.ok) this.#add(cidr.value, value);
    this.#remembered.clear();
  }

  delete(scope: string): void {
    const cidr = parseCidr(scope);
    if (!cidr.ok) return;
    const { family, length } = cidr.value;
    this.#levels[family].get(length)?.delete(keyOf(cidr.value, length));
    this.#remembered.clear();
  }

  /** Returns null if no scope contains it or it is invalid. */
  of(subject: string): T | null {
    const known = this.#remembered.get(subject);
    if (known !== undefined) return known;
    const cidr = parseCidr(subject);
    const found = cidr.ok ? this.#find(cidr.value) : null;
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(subject, found);
    return found;
  }

  #add(cidr: Cidr, value: T): void {
    const levels = this.#levels[cidr.family];
    let level = levels.get(cidr.length);
    if (level === undefined) {
      level = new Map();
      levels.set(cidr.length, level);
      this.#lengths[cidr.family] = [...levels.keys()].toSorted((a, b) => b - a);
    }
    level.set(keyOf(cidr, cidr.length), value);
  }

  #find(cidr: Cidr): T | null {
    for (const length of this.#lengths[cidr.family]) {
      if (length > cidr.length) continue;
      const found = this.#levels[cidr.family].get(length)?.get(keyOf(cidr, length));
      if (found !== undefined) return found;
    }
    return null;
  }
}

function keyOf({ family, value }: Cidr, length: number): bigint {
  return value >> BigInt(BITS[family] - length);
}
