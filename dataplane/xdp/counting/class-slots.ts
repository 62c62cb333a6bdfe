import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { CLASS_FIELDS, type CounterMaps } from './counter-maps.ts';
import { LAYOUT } from '../maps/layout.ts';

/** Places in `classes`, and who has them: cells whose packets are told apart. */
export class ClassPlaces {
  readonly #maps: CounterMaps;
  readonly #free: number[] = [];
  /** By cell. */
  readonly #places = new Map<number, number>();
  #used = 0;
  readonly #last = new Float64Array(LAYOUT.CLASSES * CLASS_FIELDS);

  constructor(maps: CounterMaps) {
    this.#maps = maps;
  }

  has(cell: number): boolean {
    return this.#places.has(cell);
  }

  /** As many of these as there is room for. */
  tell(cells: readonly number[]): void {
    const given: [cell: number, place: number][] = [];
    for (const cell of cells) {
      if (this.#places.has(cell)) continue;
      const place = this.#free.pop() ?? (this.#used < LAYOUT.CLASSES ? this.#used++ : null);
      if (place === null) break;
      this.#places.set(cell, place);
      given.push([cell, place]);
    }
    // What an earlier owner of a place got is not this one's.
    const sums = this.#maps.classes.read(0, given.length === 0 ? 0 : this.#used);
    for (const [cell, place] of given) {
      const at = place * CLASS_FIELDS;
      this.#last.set(sums.subarray(at, at + CLASS_FIELDS), at);
      this.#maps.setClasses(cell, place);
    }
  }

  hush(cell: number): void {
    const place = this.#places.get(cell);
    if (place === undefined) return;
    this.#maps.setClasses(cell, null);
    this.#places.delete(cell);
    this.#free.push(place);
  }

  /** What came since the last call, by cell; those that got something. */
  read(): Map<number, VectorCount[]> {
    const told = new Map<number, VectorCount[]>();
    if (this.#places.size === 0) return told;
    const sums = this.#maps.classes.read(0, this.#used);
    for (const [cell, place] of this.#places) {
      const counts = this.#countsOf(place, sums);
      if (counts.length > 0) told.set(cell, counts);
    }
    return told;
  }

  #countsOf(place: number, sums: Float64Array): VectorCount[] {
    const counts: VectorCount[] = [];
    const last = this.#last;
    for (let vector = 0; vector < LAYOUT.VECTORS; vector++) {
      const at = place * CLASS_FIELDS + vector * 2;
      const packets = (sums[at] as number) - (last[at] as number);
      if (packets === 0) continue;
      const bytes = (sums[at + 1] as number) - (last[at + 1] as number);
      last[at] = sums[at] as number;
      last[at + 1] = sums[at + 1] as number;
      counts.push({ vector, packets, bytes });
    }
    return counts;
  }
}
