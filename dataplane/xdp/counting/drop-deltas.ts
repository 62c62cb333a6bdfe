import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { isAddress } from '../../counters/networks.ts';
import { CounterArray } from '../../kernel/bpf/counter-array.ts';
import type { AddressDrops, DropReceiver, AddressCells } from './counter-driver.ts';
import { LAYOUT } from '../maps/layout.ts';
import type { MapSet } from '../maps/map-set.ts';
import { SLOTS_AT_ONCE } from './slot-counters.ts';

const ETHERNET_BYTES = 14;
/** Packets and bytes. */
const FIELDS = 2;

/** Drops counted by all map sets in use, and by sets closed since the last read. */
export class AllDrops implements AddressDrops {
  readonly #sets = new Map<MapSet, DropDeltas>();
  /** Drops of closed sets that were not read yet. */
  #closedSetDrops: [target: string, packets: number, bytes: number][] = [];

  add(set: MapSet): void {
    this.#sets.set(set, new DropDeltas(set));
  }

  /** Called before the set is closed. */
  remove(set: MapSet): void {
    this.#sets.get(set)?.readLast((...drops) => {
      if (this.#closedSetDrops.length < MAX_CLOSED_SET_DROPS) this.#closedSetDrops.push(drops);
    });
    this.#sets.delete(set);
  }

  read(into: DropReceiver): void {
    for (const [target, packets, bytes] of this.#closedSetDrops.splice(0)) {
      const home = into.cellsOf(target);
      if (home !== null) into.add(home, packets, bytes);
    }
    for (const deltas of this.#sets.values()) deltas.read(into);
  }

  *addresses(): Iterable<Cidr> {
    for (const set of this.#sets.keys()) {
      for (const { cidr } of set.targets()) if (isAddress(cidr)) yield cidr;
    }
  }
}

/** Further drops are discarded if nothing reads them. */
const MAX_CLOSED_SET_DROPS = 65_536;

/** Drops of one map set since the last read, by target, over all reasons. */
export class DropDeltas {
  readonly #set: MapSet;
  readonly #counters: CounterArray;
  readonly #last: Float64Array;
  readonly #sums: Float64Array;
  /** The target of each slot when its cells were resolved. */
  readonly #targets: string[] = [];
  readonly #cells: (AddressCells | null)[] = [];
  #version = -1;

  constructor(set: MapSet) {
    this.#set = set;
    this.#counters = new CounterArray(set.map('counters'), LAYOUT.COUNTERS_IN_VALUE * FIELDS);
    this.#last = new Float64Array(set.slots * FIELDS);
    this.#sums = new Float64Array(set.slots * FIELDS);
  }

  read(into: DropReceiver): void {
    if (this.#version !== into.version) this.#targets.length = 0;
    this.#version = into.version;
    this.#each((slot, packets, bytes) => {
      const target = this.#set.targetOf(slot);
      if (target === null) return;
      if (this.#targets[slot] !== target) {
        this.#targets[slot] = target;
        this.#cells[slot] = into.cellsOf(target);
      }
      const home = this.#cells[slot] ?? null;
      if (home !== null) into.add(home, packets, bytes);
    });
  }

  readLast(take: (target: string, packets: number, bytes: number) => void): void {
    this.#each((slot, packets, bytes) => {
      const target = this.#set.targetOf(slot);
      if (target !== null) take(target, packets, bytes);
    });
  }

  #each(take: (slot: number, packets: number, bytes: number) => void): void {
    const used = this.#set.usedSlots;
    const sums = this.#sum(used);
    const last = this.#last;
    for (let slot = 0; slot < used; slot++) {
      const at = slot * FIELDS;
      const packets = (sums[at] as number) - (last[at] as number);
      if (packets === 0) continue;
      const bytes = (sums[at + 1] as number) - (last[at + 1] as number);
      last[at] = sums[at] as number;
      last[at + 1] = sums[at + 1] as number;
      take(slot, packets, bytes - packets * ETHERNET_BYTES);
    }
  }

  /** Sums the counters of all reasons in use. Counters of one reason are contiguous. */
  #sum(used: number): Float64Array {
    const sums = this.#sums.fill(0, 0, used * FIELDS);
    for (const reason of this.#set.reasons) {
      for (let slot = 0; slot < used; slot += SLOTS_AT_ONCE) {
        const count = Math.min(SLOTS_AT_ONCE, used - slot);
        const first = (reason * this.#set.slots + slot) / LAYOUT.COUNTERS_IN_VALUE;
        const counted = this.#counters.read(first, Math.ceil(count / LAYOUT.COUNTERS_IN_VALUE));
        const begin = slot * FIELDS;
        for (let at = 0; at < count * FIELDS; at++) {
          sums[begin + at] = (sums[begin + at] as number) + (counted[at] as number);
        }
      }
    }
    return sums;
  }
}
