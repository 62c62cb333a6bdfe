import type { Descriptor } from '../../kernel/bpf/bpf.ts';
import { CounterArray } from '../../kernel/bpf/counter-array.ts';
import { LAYOUT } from '../maps/layout.ts';
import { type Reason, REASONS } from '../compile/early-target.ts';

/** Counts of a slot for one reason since the last call. */
export interface Counted {
  readonly slot: number;
  readonly reason: Reason;
  readonly packets: number;
  readonly bytes: number;
}

/** The fields of `struct counter`: packets and bytes. */
const FIELDS = 2;
/** Slots per read call: 64 KiB for each possible CPU. */
export const SLOTS_AT_ONCE = 64 * LAYOUT.COUNTERS_IN_VALUE;

/**
 * Drop counters by slot and reason (`struct counters` of layout.h). There may be 100,000 slots, most of them idle, so
 * sums are compared as numbers, and objects are made only for changes.
 */
export class SlotCounters {
  readonly #slots: number;
  readonly #counters: CounterArray;
  /** The totals already reported, by reason and slot. */
  readonly #packets: Float64Array;
  readonly #bytes: Float64Array;

  constructor(map: Descriptor, slots: number) {
    this.#counters = new CounterArray(map, LAYOUT.COUNTERS_IN_VALUE * FIELDS);
    this.#slots = slots;
    this.#packets = new Float64Array(slots * REASONS.length);
    this.#bytes = new Float64Array(slots * REASONS.length);
  }

  /**
   * Reads all slots below `end` for these reasons; other counters are zero. Throws `SystemError`, and then reports
   * nothing.
   */
  added(end: number, reasons: Iterable<number>): Counted[] {
    return this.#report(this.#changes(0, end, reasons));
  }

  addedTo(slot: number, reasons: Iterable<number>): Counted[] {
    return this.#report(this.#changes(slot, slot + 1, reasons));
  }

  #changes(begin: number, end: number, reasons: Iterable<number>): Totals[] {
    const changes: Totals[] = [];
    for (const reason of reasons) {
      for (let slot = begin; slot < end; slot += SLOTS_AT_ONCE) {
        const first = reason * this.#slots + slot;
        this.#compare(first, Math.min(SLOTS_AT_ONCE, end - slot), changes);
      }
    }
    return changes;
  }

  #compare(begin: number, count: number, changes: Totals[]): void {
    const first = Math.floor(begin / LAYOUT.COUNTERS_IN_VALUE);
    const values = Math.ceil((begin + count) / LAYOUT.COUNTERS_IN_VALUE) - first;
    const sums = this.#counters.read(first, values);
    const reported = this.#packets;
    let at = (begin - first * LAYOUT.COUNTERS_IN_VALUE) * FIELDS;
    for (let one = begin; one < begin + count; one++, at += FIELDS) {
      const packets = sums[at] as number;
      if (packets === reported[one]) continue;
      changes.push({ index: one, packets, bytes: sums[at + 1] as number });
    }
  }

  #report(changes: readonly Totals[]): Counted[] {
    return changes.map(({ index, packets, bytes }) => {
      const counted = {
        slot: index % this.#slots,
        reason: REASONS[Math.floor(index / this.#slots)] as Reason,
        packets: packets - (this.#packets[index] as number),
        bytes: bytes - (this.#bytes[index] as number),
      };
      this.#packets[index] = packets;
      this.#bytes[index] = bytes;
      return counted;
    });
  }
}

interface Totals {
  readonly index: number;
  readonly packets: number;
  readonly bytes: number;
}
