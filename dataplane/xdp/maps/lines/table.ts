import { LAYOUT } from '../layout.ts';

/** A line that moves to another index. */
export interface MovedLine {
  readonly from: number;
  readonly to: number;
}
export interface AddedLine {
  readonly index: number;
  /** The line to move away first, or null. */
  readonly moved: MovedLine | null;
}

const FREE = 0;
const FIRST = 1;
const SECOND = 2;

/**
 * The indices of lines. A line is at the first or the second index of its hash (`struct line` of layout.h), usually
 * at the first. The table does not know the contents of lines.
 */
export class LineTable {
  readonly shift: number;
  /** The hash at each index, and whether it is at its first or second index. */
  readonly #hashes: Uint32Array;
  readonly #taken: Uint8Array;

  /** `lines`: a power of two. */
  constructor(lines: number) {
    this.shift = 32 - Math.log2(lines);
    this.#hashes = new Uint32Array(lines);
    this.#taken = new Uint8Array(lines);
  }

  /** Returns null if the hash has no line. */
  indexOf(hash: number): number | null {
    return [this.#first(hash), this.#second(hash)].find((index) => this.#isAt(index, hash)) ?? null;
  }

  /** Adds a hash that has no line yet. Returns null if no index is free. */
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

  /** Moves a line to its other index if that is free. */
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
