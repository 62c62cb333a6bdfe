import { LAYOUT } from '../layout.ts';

/** A line that stands elsewhere now. */
export interface MovedLine {
  readonly from: number;
  readonly to: number;
}
export interface AddedLine {
  readonly index: number;
  /** Who stood there before, to be moved first. */
  readonly moved: MovedLine | null;
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
  indexOf(hash: number): number | null {
    return [this.#first(hash), this.#second(hash)].find((index) => this.#isAt(index, hash)) ?? null;
  }

  /** Of a hash that has none yet. Null: both its places are taken for good. */
  add(hash: number): AddedLine | null {
    const [first, second] = [this.#first(hash), this.#second(hash)];
    const free = [first, second].find((index) => this.#taken[index] === FREE);
    if (free !== undefined) {
      this.#put(free, hash);
      return { index: free, moved: null };
    }
    for (const index of [first, second]) {
      const moved = this.#move(index);
      if (moved === null) continue;
      this.#put(index, hash);
      return { index, moved };
    }
    return null;
  }

  remove(hash: number): void {
    const index = this.indexOf(hash);
    if (index !== null) this.#taken[index] = FREE;
  }

  /** To its other place, where that is free. */
  #move(from: number): MovedLine | null {
    const hash = this.#hashes[from] ?? 0;
    const to = this.#taken[from] === FIRST ? this.#second(hash) : this.#first(hash);
    if (this.#taken[to] !== FREE) return null;
    this.#taken[from] = FREE;
    this.#put(to, hash);
    return { from, to };
  }

  #put(index: number, hash: number): void {
    this.#hashes[index] = hash;
    this.#taken[index] = index === this.#first(hash) ? FIRST : SECOND;
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
