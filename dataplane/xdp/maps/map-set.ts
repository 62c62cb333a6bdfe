import type { Family } from '@portcullis/core/net/address.ts';
import {
  closeDescriptor,
  createMap,
  deleteElement,
  type Descriptor,
  lookupElement,
  mapShapeOf,
  nextKey,
  updateElement,
  updateElements,
} from '../../kernel/bpf/bpf.ts';
import type { BpfArtifact } from '../../kernel/bpf/bpf-artifact.ts';
import {
  type EarlyTarget,
  type GreetedPort,
  type Reason,
  REASONS,
} from '../compile/early-target.ts';
import { reasonsOf } from '../compile/compile.ts';
import {
  type Encoded,
  encodeSpilled,
  encodeTarget,
  LAYOUT,
  prefixKey,
  type Unions,
} from './layout.ts';
import { LineMaps } from './lines/maps.ts';
import { MapUsage, sized, sizeFor } from './capacity.ts';
import { type ProgramName, Programs } from './programs.ts';
import { filteredKey } from '../compile/greetings.ts';
import { encodeStatelessDrops } from '../compile/stateless-drops.ts';
import { type Counted, SlotCounters } from '../counting/slot-counters.ts';
import type { UnionTable } from '../compile/unions.ts';

/** A map is full, or the kernel has no memory for it. A larger set is needed. */
export class AtCapacity extends Error {
  override readonly name = 'AtCapacity';
}

/** Maps that outlive a set: open flows and traffic counters do not depend on rules. */
export type SharedMaps = Readonly<Record<string, Descriptor>>;

export interface SlotCount {
  readonly target: string;
  readonly reason: Reason;
  readonly packets: number;
  readonly bytes: number;
}

interface LoadedTarget {
  readonly target: EarlyTarget;
  readonly slot: number;
  /** The version in its elements. */
  readonly version: number;
  readonly elements: readonly Encoded[];
}

export interface MapSetParts {
  readonly artifact: BpfArtifact;
  readonly shared: SharedMaps;
  readonly targets: readonly EarlyTarget[];
  readonly unions: UnionTable;
  /** The programs that are used at once. */
  readonly programs: readonly ProgramName[];
}

/**
 * One generation of the maps with the programs that read them. The elements of a target can change in place. When a
 * map is full, a larger set is filled and replaces this one in one step.
 */
export class MapSet {
  readonly programs: Programs;
  readonly #maps: Readonly<Record<string, Descriptor>>;
  readonly #loaded = new Map<string, LoadedTarget>();
  readonly #freeSlots: number[] = [];
  readonly #usage = new MapUsage();
  /** Entries of the maps by name. */
  readonly #capacities = new Map<string, number>();
  /** The number of counter slots. */
  readonly slots: number;
  readonly #unions: Unions;
  /** Target names by slot. */
  readonly #names = new Map<number, string>();
  /** Drops of removed targets that were not reported yet. */
  readonly #unreported: SlotCount[] = [];
  readonly #owned: Descriptor[] = [];
  readonly #lines: LineMaps;
  readonly #counters: SlotCounters;
  readonly #reasons = new Set<number>();
  /** The elements of `greetings`. Ports with the same filters share one, and none is ever taken away. */
  readonly #greetings: Buffer[] = [];
  #nextSlot = 0;
  #version = 1;

  /** Makes the maps, empty, and loads no program. */
  private constructor({ artifact, shared, targets, unions }: MapSetParts) {
    this.#unions = unions.numbers;
    this.slots = sizeFor(targets.length);
    const shapes = sized(artifact.maps, targets, this.slots, unions);
    const maps: Record<string, Descriptor> = { ...shared };
    this.#maps = maps;
    this.programs = new Programs(artifact, maps);
    try {
      for (const [name, shape] of Object.entries(shapes)) {
        if (name in shared) continue;
        maps[name] = createMap(name, shape);
        this.#owned.push(maps[name]);
        this.#capacities.set(name, shape.maxEntries);
      }
      this.#capacities.set('slots', this.slots);
      this.#counters = new SlotCounters(this.map('counters'), this.slots);
      this.#lines = new LineMaps((name) => this.map(name), this.slots);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Fills the maps before any packet is evaluated. Throws `SystemError` or `ProgramRefused`. */
  static load(parts: MapSetParts): MapSet {
    const set = new MapSet(parts);
    try {
      set.#fill(parts);
      for (const program of parts.programs) set.programs.get(program);
      return set;
    } catch (error) {
      set.close();
      throw error;
    }
  }

  /** Verifies the programs on other threads while this one fills the maps. */
  static async prepare(parts: MapSetParts): Promise<MapSet> {
    const set = new MapSet(parts);
    const loading = set.programs.prepare(parts.programs);
    const filling = (async () => set.#fill(parts))();
    for (const part of await Promise.allSettled([loading, filling])) {
      if (part.status === 'fulfilled') continue;
      set.close();
      throw part.reason;
    }
    return set;
  }

  /** Whether the set was made of these targets and did not change since. */
  isMadeOf(targets: readonly EarlyTarget[]): boolean {
    return (
      this.#loaded.size === targets.length &&
      targets.every((target) => this.#loaded.get(target.target)?.target === target)
    );
  }

  /** The shift from a hash to the index of a line. */
  lineShift(family: Family): number {
    return this.#lines.shift(family);
  }

  /** The programs stay in force as long as a link refers to them. */
  close(): void {
    this.#owned.forEach(closeDescriptor);
    this.programs.close();
  }

  get size(): number {
    return this.#loaded.size;
  }

  /** The number of slots ever used; later slots never had a target. */
  get usedSlots(): number {
    return this.#nextSlot;
  }

  /** Addresses and prefixes. */
  targets(): Iterable<EarlyTarget> {
    return [...this.#loaded.values()].map(({ target }) => target);
  }

  /** Indices of REASONS that some rule has ever dropped for. All other counters are zero. */
  get reasons(): Iterable<number> {
    return this.#reasons;
  }

  targetOf(slot: number): string | null {
    return this.#names.get(slot) ?? null;
  }

  map(name: string): Descriptor {
    const descriptor = this.#maps[name];
    if (descriptor === undefined) throw new Error(`no map ${name}`);
    return descriptor;
  }

  /** The size of the ring buffer of samples. */
  get ringBytes(): number {
    return mapShapeOf(this.map('samples')).maxEntries;
  }

  /** Replaces all elements of a small map. Adds new elements before it removes old ones. */
  replaceAll(name: string, keys: readonly Buffer[], value: Buffer): void {
    const map = this.map(name);
    for (const key of keys) updateElement(map, key, value);
    const wanted = new Set(keys.map((key) => key.toString('latin1')));
    for (const key of allKeys(map, mapShapeOf(map).keySize)) {
      if (!wanted.has(key.toString('latin1'))) deleteElement(map, key);
    }
  }

  has(name: string): boolean {
    return this.#loaded.has(name);
  }

  /**
   * Adds or replaces a target. Each packet is evaluated by the old rules or the new ones. Throws `AtCapacity`: the
   * target then still has its old elements, and must be removed or loaded with a larger set.
   */
  set(target: EarlyTarget): void {
    const before = this.#loaded.get(target.target);
    const capacityOf = (what: string): number => this.#capacities.get(what) ?? 0;
    if (!this.#usage.fits(target, capacityOf, before?.target))
      throw new AtCapacity(`the maps are full for ${target.target}`);
    const slot = before?.slot ?? this.#takeSlot(target.target);
    const version = this.#nextVersion();
    const elements = this.#encode({ target, slot, version });
    if (before !== undefined) this.#lines.invalidate(before.target);
    try {
      // Writes referenced elements before the element that refers to them, and removes old elements last.
      for (const element of elements)
        updateElement(this.map(element.map), element.key, element.value);
    } catch (error) {
      this.#undo({ target, slot, version, elements }, before);
      throw new AtCapacity(`the kernel refused ${target.target}`, { cause: error });
    }
    this.#track({ target, slot, version, elements: elements.map(withoutValue) });
    if (before !== undefined) this.#removeElements(before.elements, elements);
    this.#lines.set({ target, slot });
  }

  /** Compares the elements in the maps with what was written. */
  isIntact(name: string): boolean {
    const loaded = this.#loaded.get(name);
    if (loaded === undefined) return true;
    const isPresent = ({ map, key, value }: Encoded): boolean => {
      const read = Buffer.alloc(value.length);
      return lookupElement(this.map(map), key, read) && read.equals(value);
    };
    const elements = this.#encode(loaded);
    const greetings = elements.flatMap(({ map, value: key }): Encoded[] => {
      const value = map === 'filtered' ? this.#greetings[key.readUInt32LE(0)] : undefined;
      return value === undefined ? [] : [{ map: 'greetings', key, value }];
    });
    return [...elements, ...greetings].every(isPresent) && this.#lines.isIntact(loaded);
  }

  remove(name: string): void {
    const loaded = this.#loaded.get(name);
    if (loaded === undefined) return;
    this.#loaded.delete(name);
    this.#usage.remove(loaded.target);
    this.#lines.remove(loaded.target);
    this.#removeElements(loaded.elements.toReversed(), []);
    this.#unreported.push(...this.#named(this.#counters.addedTo(loaded.slot, this.#reasons)));
    this.#names.delete(loaded.slot);
    this.#freeSlots.push(loaded.slot);
  }

  /** Drops by target since the last call. */
  counts(): SlotCount[] {
    const added = this.#named(this.#counters.added(this.#nextSlot, this.#reasons));
    return [...this.#unreported.splice(0), ...added];
  }

  #named(counted: readonly Counted[]): SlotCount[] {
    return counted.flatMap(({ slot, reason, packets, bytes }) => {
      const target = this.#names.get(slot);
      return target === undefined ? [] : [{ target, reason, packets, bytes }];
    });
  }

  #fill({ targets, unions }: MapSetParts): void {
    this.#fillTargets(targets);
    this.#fillUnions(unions);
  }

  #fillTargets(targets: readonly EarlyTarget[]): void {
    const byMap = new Map<string, Encoded[]>();
    for (const target of targets) {
      const slot = this.#takeSlot(target.target);
      const version = this.#nextVersion();
      const elements = this.#encode({ target, slot, version });
      for (const element of elements) {
        const list = byMap.get(element.map) ?? [];
        list.push(element);
        byMap.set(element.map, list);
      }
      this.#track({ target, slot, version, elements: elements.map(withoutValue) });
    }
    for (const [name, elements] of byMap) {
      const keys = Buffer.concat(elements.map(({ key }) => key));
      const values = Buffer.concat(elements.map(({ value }) => value));
      updateElements(this.map(name), keys, values, elements.length);
    }
    this.#lines.load([...this.#loaded.values()]);
  }

  #fillUnions({ networks }: UnionTable): void {
    for (const family of [4, 6] as const) {
      const keys = networks[family].map(({ cidr }) => prefixKey(cidr));
      const values = Buffer.alloc(keys.length * 8);
      networks[family].forEach(({ bits }, index) => values.writeBigUInt64LE(bits, index * 8));
      updateElements(this.map(`sets_${family}`), Buffer.concat(keys), values, keys.length);
    }
  }

  #track(loaded: LoadedTarget): void {
    const before = this.#loaded.get(loaded.target.target);
    if (before !== undefined) this.#usage.remove(before.target);
    this.#usage.add(loaded.target);
    this.#loaded.set(loaded.target.target, loaded);
  }

  /** Cleans up after a refused write. The element that refers to all others is removed last. */
  #undo(failed: LoadedTarget, before: LoadedTarget | undefined): void {
    const { target } = failed.target;
    if (before === undefined) {
      this.#removeElements(failed.elements, []);
      this.#names.delete(failed.slot);
      this.#freeSlots.push(failed.slot);
    } else {
      const elements = [...failed.elements, ...before.elements].map(withoutValue);
      this.#loaded.set(target, { ...before, elements });
    }
  }

  #nextVersion(): number {
    this.#version = this.#version === 0xffff_ffff ? 1 : this.#version + 1;
    return this.#version;
  }

  #encode({ target, slot, version }: Omit<LoadedTarget, 'elements'>): Encoded[] {
    for (const reason of reasonsOf(target)) this.#reasons.add(REASONS.indexOf(reason));
    const placement = { slot, version, unions: this.#unions };
    return [
      ...encodeSpilled(target.spilled, slot, version),
      ...encodeStatelessDrops(target.statelessDrops, slot),
      ...target.greetedPorts.flatMap((one) => this.#encodeGreeted(one, slot)),
      ...encodeTarget(target, placement),
    ];
  }

  /** Encodes a port: without room for its greetings, nftables alone evaluates the port. */
  #encodeGreeted({ port, greetings: { encoded } }: GreetedPort, slot: number): Encoded[] {
    const known = this.#greetings.indexOf(encoded);
    const index = known < 0 ? this.#greetings.length : known;
    if (index === LAYOUT.GREETING_SETS) return [];
    const value = Buffer.alloc(4);
    value.writeUInt32LE(index, 0);
    if (known < 0) {
      updateElement(this.map('greetings'), value, encoded);
      this.#greetings.push(encoded);
    }
    return [{ map: 'filtered', key: filteredKey(slot, port), value }];
  }

  #removeElements(gone: readonly ElementName[], kept: readonly ElementName[]): void {
    const names = new Set(kept.map(elementName));
    for (const element of gone) {
      if (!names.has(elementName(element))) deleteElement(this.map(element.map), element.key);
    }
  }

  #takeSlot(target: string): number {
    const freed = this.#freeSlots.shift();
    const slot = freed ?? this.#nextSlot++;
    if (slot >= this.slots) throw new AtCapacity(`no counter slot for ${target}`);
    // Discards what packets in flight counted for the previous target.
    if (freed !== undefined) this.#counters.addedTo(slot, this.#reasons);
    this.#names.set(slot, target);
    return slot;
  }
}

function allKeys(map: Descriptor, keyBytes: number): Buffer[] {
  const keys: Buffer[] = [];
  let next = Buffer.alloc(keyBytes);
  for (let key: Buffer | null = null; nextKey(map, key, next); next = Buffer.alloc(keyBytes)) {
    keys.push(next);
    key = next;
  }
  return keys;
}

type ElementName = Pick<Encoded, 'map' | 'key'>;

function withoutValue({ map, key }: Encoded): Encoded {
  return { map, key, value: EMPTY };
}
const EMPTY = Buffer.alloc(0);

function elementName({ map, key }: ElementName): string {
  return `${map} ${key.toString('latin1')}`;
}
