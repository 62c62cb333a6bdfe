import { type Descriptor, lookupElement, lookupElements } from '../kernel/bpf.ts';
import { possibleCpus } from '../kernel/possible-cpus.ts';
import { LAYOUT, REASONS } from './layout.ts';

export interface Totals {
  readonly packets: bigint;
  readonly bytes: bigint;
}
/** By reason. */
export type SlotTotals = readonly Totals[];
export type TotalsOf = (slot: number, reason: number) => Totals;
export const NO_DROPS: Totals = { packets: 0n, bytes: 0n };

const COUNTER_BYTES = 16;
const VALUE_BYTES = COUNTER_BYTES * LAYOUT.COUNTERS_IN_VALUE;

/** What the programs count, by slot and reason (`struct counters` of layout.h). */
export class SlotCounters {
  readonly #map: Descriptor;
  readonly #slots: number;

  constructor(map: Descriptor, slots: number) {
    this.#map = map;
    this.#slots = slots;
  }

  of(slot: number): SlotTotals {
    const key = Buffer.alloc(4);
    const values = Buffer.alloc(VALUE_BYTES * possibleCpus());
    return REASONS.map((_, reason) => {
      const place = reason * this.#slots + slot;
      key.writeUInt32LE(Math.floor(place / LAYOUT.COUNTERS_IN_VALUE), 0);
      lookupElement(this.#map, key, values);
      return sumOf(values, place % LAYOUT.COUNTERS_IN_VALUE);
    });
  }

  all(): TotalsOf {
    const count = (this.#slots * LAYOUT.REASONS) / LAYOUT.COUNTERS_IN_VALUE;
    const bytes = VALUE_BYTES * possibleCpus();
    const values = lookupElements(this.#map, count, 4, bytes);
    return (slot, reason) => {
      const place = reason * this.#slots + slot;
      const begin = Math.floor(place / LAYOUT.COUNTERS_IN_VALUE) * bytes;
      return sumOf(values.subarray(begin, begin + bytes), place % LAYOUT.COUNTERS_IN_VALUE);
    };
  }
}

/** Per-CPU values come one after the other, of every CPU that this host could have. */
function sumOf(values: Buffer, index: number): Totals {
  let [packets, bytes] = [0n, 0n];
  for (let at = index * COUNTER_BYTES; at < values.length; at += VALUE_BYTES) {
    packets += values.readBigUInt64LE(at);
    bytes += values.readBigUInt64LE(at + 8);
  }
  return { packets, bytes };
}
