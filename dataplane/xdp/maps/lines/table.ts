import { LAYOUT } from '../layout.ts';

/** A line that stands elsewhere now. */
export interface Moved {
  readonly from: number;
  readonly to: number;
}
export interface Added {
  readonly place: number;
  /** Who stood there before, to be moved first. */
  readonly moved: Moved | null;
}

const FREE = 0;
const FIRST = 1;
const SECOND = 2;

/**
 * Which line stands where: at the first or the second place of its hash (`struct line` in layout.h). Most find their
 * first place free. Knows nothing of what lines say.
 */
export class LineTable {
  readonly shift: number;
  /** By place: whose, and which of its places it is. */
  readonly #hashes: Uint32Array;
  readonly #taken: Uint8Array;

  /** `lines`: a power of two. */
  constructor(lines: number) {
    this.shift = 32 - Math.log2(lines);
    this.#hashes = new Uint32Array(lines);
    this.#taken = new Uint8Array(lines);
  }

  /** Null: it has none. */
  placeOf(hash: number): number | null {
    return [this.#first(hash), this.#second(hash)].find((place) => this.#isAt(place, hash)) ?? null;
  }

  /** Of a hash that has none yet. Null: both its places are taken for good. */
  add(hash: number): Added | null {
    const [first, second] = [this.#first(hash), this.#second(hash)];
    const free = [first, second].find((place) => this.#taken[place] === FREE);
    if (free !== undefined) {
      this.#put(free, hash);
      return { place: free, moved: null };
    }
    for (const place of [first, second]) {
      const moved = this.#move(place);
      if (moved === null) continue;
      this.#put(place, hash);
      return { place, moved };
    }
    return null;
  }

  remove(hash: number): void {
    const place = this.placeOf(hash);
    if (place !== null) this.#taken[place] = FREE;
  }

  /** To its other place, where that is free. */
  #move(from: number): Moved | null {
    const hash = this.#hashes[from] ?? 0;
    const to = this.#taken[from] === FIRST ? this.#second(hash) : this.#first(hash);
    if (this.#taken[to] !== FREE) return null;
    this.#taken[from] = FREE;
    this.#put(to, hash);
    return { from, to };
  }

  #put(place: number, hash: number): void {
    this.#hashes[place] = hash;
    this.#taken[place] = place === this.#first(hash) ? FIRST : SECOND;
  }

  #isAt(place: number, hash: number): boolean {
    return this.#taken[place] !== FREE && this.#hashes[place] === hash;
  }

  #first(hash: number): number {
    return hash >>> this.shift;
  }

  #second(hash: number): number {
    return Math.imul(hash, LAYOUT.LINE_SECOND) >>> this.shift;
  }
}
