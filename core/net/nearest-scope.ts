import { BITS, type Family } from './address.ts';
import { type Cidr, parseCidr } from './cidr.ts';

/** Subjects whose scope is remembered, so that asking again costs one look-up. */
const MAX_REMEMBERED = 131_072;

/** Finds what holds for an address or network: whatever has the longest prefix around it. */
export class NearestScope<T> {
  readonly #levels: Record<Family, Map<number, Map<bigint, T>>> = { 4: new Map(), 6: new Map() };
  readonly #lengths: Readonly<Record<Family, readonly number[]>>;
  readonly #remembered = new Map<string, T | null>();

  /** `scopes` are addresses and networks; what is neither is left out. The last of equal ones holds. */
  constructor(scopes: Iterable<readonly [scope: string, value: T]>) {
    for (const [scope, value] of scopes) {
      const cidr = parseCidr(scope);
      if (cidr.ok) this.#add(cidr.value, value);
    }
    const longestFirst = (family: Family): number[] =>
      [...this.#levels[family].keys()].toSorted((a, b) => b - a);
    this.#lengths = { 4: longestFirst(4), 6: longestFirst(6) };
  }

  /** Null: nothing is around it, or it is neither address nor network. */
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
