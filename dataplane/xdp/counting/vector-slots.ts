import type { VectorCount } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_FIELDS, type CounterMaps } from './counter-maps.ts';
import { LAYOUT } from '../maps/layout.ts';

/** Assigns slots of `classes` to the cells whose packets are counted by vector. */
export class VectorSlots {
  readonly #maps: CounterMaps;
  readonly #free: number[] = [];
  /** The slot of each cell. */
  readonly #slots = new Map<number, number>();
  #used = 0;
  readonly #last = new Float64Array(LAYOUT.CLASSES * VECTOR_FIELDS);

  constructor(maps: CounterMaps) {
    this.#maps = maps;
  }

  has(cell: number): boolean {
    return this.#slots.has(cell);
  }

  /** Assigns slots to these cells until none is free. */
  start(cells: readonly number[]): void {
    const added: [cell: number, place: number][] = [];
    for (const cell of cells) {
      if (this.#slots.has(cell)) continue;
      const slot = this.#free.pop() ?? (this.#used < LAYOUT.CLASSES ? this.#used++ : null);
      if (slot === null) break;
      this.#slots.set(cell, slot);
      added.push([cell, slot]);
    }
    // // Sets the baseline, because a previous cell may have used the slot.
    const sums = this.#maps.classes.read(0, added.length === 0 ? 0 : this.#used);
    for (const [cell, slot] of added) {
      const at = slot * VECTOR_FIELDS;
      this.#last.set(sums.subarray(at, at + VECTOR_FIELDS), at);
      this.#maps.setVectorSlot(cell, slot);
    }
  }

  stop(cell: number): void {
    const slot = this.#slots.get(cell);
    if (slot === undefined) return;
    this.#maps.setVectorSlot(cell, null);
    this.#slots.delete(cell);
    this.#free.push(slot);
  }

  /** The counts since the last call, by cell. Omits cells without packets. */
  read(): Map<number, VectorCount[]> {
    const counted = new Map<number, VectorCount[]>();
    if (this.#slots.size === 0) return counted;
    const sums = this.#maps.classes.read(0, this.#used);
    for (const [cell, slot] of this.#slots) {
      const counts = this.#countsOf(slot, sums);
      if (counts.length > 0) counted.set(cell, counts);
    }
    return counted;
  }

  #countsOf(slot: number, sums: Float64Array): VectorCount[] {
    const counts: VectorCount[] = [];
    const last = this.#last;
    for (let vector = 0; vector < LAYOUT.VECTORS; vector++) {
      const at = slot * VECTOR_FIELDS + vector * 2;
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
