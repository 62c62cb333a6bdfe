import type { Family } from '@portcullis/core/net/address.ts';
import {
  closeDescriptor,
  createMap,
  deleteElement,
  type Descriptor,
  loadProgram,
  mapShapeOf,
  nextKey,
  type MapShape,
  updateElement,
  updateElements,
} from '../kernel/bpf.ts';
import { type BpfArtifact, relocated } from '../kernel/bpf-artifact.ts';
import type { EarlyTarget } from './compile.ts';
import {
  type Encoded,
  encodeSpilled,
  encodeTarget,
  LAYOUT,
  mapsOf,
  prefixKey,
  type Reason,
  type Unions,
} from './layout.ts';
import { countLines, LineMaps } from './line-maps.ts';
import { type Counted, SlotCounters } from './slot-counters.ts';
import type { UnionTable } from './unions.ts';

/** A map is full, or the kernel has no memory for it: a set with more room is needed. */
export class OutOfRoom extends Error {
  override readonly name = 'OutOfRoom';
}

export interface Programs {
  readonly earlyDrop: Descriptor;
  readonly rememberFlow: Descriptor;
}

/** Maps that outlive a set: what flows are open, and what is counted, does not depend on rules. */
export type SharedMaps = Readonly<Record<string, Descriptor>>;

export interface SlotCount {
  readonly target: string;
  readonly reason: Reason;
  readonly packets: number;
  readonly bytes: number;
}

interface Held {
  readonly target: EarlyTarget;
  readonly slot: number;
  readonly elements: readonly Encoded[];
}

const SMALLEST = 64;

/**
 * One generation of the maps with the programs that read them. Elements of a target may change; when a map
 * has no room left, a new set is filled beside this one and takes its place in one step.
 */
export class MapSet {
  readonly programs: Programs;
  readonly #maps: Readonly<Record<string, Descriptor>>;
  readonly #held = new Map<string, Held>();
  readonly #freeSlots: number[] = [];
  /** Targets that there are counters for. */
  readonly slots: number;
  readonly #unions: Unions;
  /** Targets by slot, for samples. */
  readonly #names = new Map<number, string>();
  /** Of targets that were removed, and not told yet. */
  readonly #untold: SlotCount[] = [];
  #nextSlot = 0;
  #version = 1;

  /** Everything is in the maps before any packet sees them. Throws `SystemError`. */
  constructor(
    artifact: BpfArtifact,
    shared: SharedMaps,
    targets: readonly EarlyTarget[],
    unions: UnionTable,
  ) {
    this.#unions = unions.numbers;
    this.slots = roomFor(targets.length);
    const shapes = sized(artifact.maps, targets, this.slots, unions);
    const made: Descriptor[] = [];
    try {
      const maps: Record<string, Descriptor> = { ...shared };
      for (const [name, shape] of Object.entries(shapes)) {
        if (name in shared) continue;
        maps[name] = createMap(name, shape);
        made.push(maps[name]);
      }
      this.#maps = maps;
      this.#counters = new SlotCounters(this.map('counters'), this.slots);
      this.#lines = new LineMaps((name) => this.map(name), this.slots);
      this.#fill(targets);
      this.#fillUnions(unions);
      const load = (program: string, name: string): Descriptor => {
        const image = artifact.programs[program];
        if (image === undefined) throw new Error(`the artifact has no program ${program}`);
        const { type } = image;
        const instructions = relocated(image, maps);
        const descriptor = loadProgram(name, { type, instructions, license: artifact.license });
        made.push(descriptor);
        return descriptor;
      };
      this.programs = {
        earlyDrop: load('xdp', 'pcl_early_drop'),
        rememberFlow: load('tcx/egress', 'pcl_remember'),
      };
    } catch (error) {
      made.forEach(closeDescriptor);
      throw error;
    }
    this.#owned = made;
  }

  readonly #owned: readonly Descriptor[];
  readonly #lines: LineMaps;
  readonly #counters: SlotCounters;

  /** How far a hash is shifted to say where a line is. */
  lineShift(family: Family): number {
    return this.#lines.shift(family);
  }

  /** Packets go on being judged by it for as long as a link has its program. */
  close(): void {
    this.#owned.forEach(closeDescriptor);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Of all slots; those behind never had a target. */
  get usedSlots(): number {
    return this.#nextSlot;
  }

  /** Of single addresses and networks. */
  targets(): Iterable<EarlyTarget> {
    return [...this.#held.values()].map(({ target }) => target);
  }

  targetOf(slot: number): string | null {
    return this.#names.get(slot) ?? null;
  }

  map(name: string): Descriptor {
    const descriptor = this.#maps[name];
    if (descriptor === undefined) throw new Error(`no map ${name}`);
    return descriptor;
  }

  /** Of the buffer that samples stand in. */
  get ringBytes(): number {
    return mapShapeOf(this.map('samples')).maxEntries;
  }

  /** Makes these the elements of a small map. New ones come before old ones go. */
  replaceAll(name: string, keys: readonly Buffer[], value: Buffer): void {
    const map = this.map(name);
    for (const key of keys) updateElement(map, key, value);
    const wanted = new Set(keys.map((key) => key.toString('latin1')));
    for (const key of allKeys(map, mapShapeOf(map).keySize)) {
      if (!wanted.has(key.toString('latin1'))) deleteElement(map, key);
    }
  }

  /** Adds a target or replaces its rules; each packet is judged by the old ones or the new ones. */
  set(target: EarlyTarget): void {
    const before = this.#held.get(target.target);
    const slot = before?.slot ?? this.#takeSlot(target.target);
    const elements = this.#encode(target, slot);
    if (before !== undefined) this.#lines.withdraw(before.target);
    try {
      // What others point at first, what points at it last; then what nothing points at any more.
      for (const element of elements)
        updateElement(this.map(element.map), element.key, element.value);
    } catch (error) {
      throw new OutOfRoom(`no room for ${target.target}`, { cause: error });
    }
    this.#held.set(target.target, { target, slot, elements: elements.map(withoutValue) });
    if (before !== undefined) this.#removeElements(before.elements, elements);
    this.#lines.set({ target, slot });
  }

  remove(name: string): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    this.#held.delete(name);
    this.#lines.remove(held.target);
    this.#removeElements(held.elements.toReversed(), []);
    this.#untold.push(...this.#named(this.#counters.addedTo(held.slot)));
    this.#names.delete(held.slot);
    this.#freeSlots.push(held.slot);
  }

  /** What each target has had dropped since the last call. */
  counts(): SlotCount[] {
    const added = this.#named(this.#counters.added(this.#nextSlot));
    return [...this.#untold.splice(0), ...added];
  }

  #named(counted: readonly Counted[]): SlotCount[] {
    return counted.flatMap(({ slot, reason, packets, bytes }) => {
      const target = this.#names.get(slot);
      return target === undefined ? [] : [{ target, reason, packets, bytes }];
    });
  }

  #fill(targets: readonly EarlyTarget[]): void {
    const byMap = new Map<string, Encoded[]>();
    for (const target of targets) {
      const slot = this.#takeSlot(target.target);
      const elements = this.#encode(target, slot);
      for (const element of elements) {
        const list = byMap.get(element.map) ?? [];
        list.push(element);
        byMap.set(element.map, list);
      }
      this.#held.set(target.target, { target, slot, elements: elements.map(withoutValue) });
    }
    for (const [name, elements] of byMap) {
      const keys = Buffer.concat(elements.map(({ key }) => key));
      const values = Buffer.concat(elements.map(({ value }) => value));
      updateElements(this.map(name), keys, values, elements.length);
    }
    this.#lines.begin([...this.#held.values()]);
  }

  #fillUnions({ networks }: UnionTable): void {
    for (const family of [4, 6] as const) {
      const keys = networks[family].map(({ cidr }) => prefixKey(cidr));
      const values = Buffer.alloc(keys.length * 8);
      networks[family].forEach(({ bits }, index) => values.writeBigUInt64LE(bits, index * 8));
      updateElements(this.map(`sets_${family}`), Buffer.concat(keys), values, keys.length);
    }
  }

  #encode(target: EarlyTarget, slot: number): Encoded[] {
    this.#version = this.#version === 0xffff_ffff ? 1 : this.#version + 1;
    const place = { slot, version: this.#version, unions: this.#unions };
    return [...encodeSpilled(target.spilled, slot, this.#version), ...encodeTarget(target, place)];
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
    if (slot >= this.slots) throw new OutOfRoom(`no counter for ${target}`);
    // What packets under way counted of the target before it.
    if (freed !== undefined) this.#counters.addedTo(slot);
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

/** The artifact's maps, with room for these targets and more. */
function sized(
  shapes: Readonly<Record<string, MapShape>>,
  targets: readonly EarlyTarget[],
  slots: number,
  unions: UnionTable,
): Record<string, MapShape> {
  const counts = new Map<string, number>(Object.entries(countLines(targets)));
  for (const target of targets) {
    for (const map of mapsOf(target)) counts.set(map, (counts.get(map) ?? 0) + 1);
    counts.set('spilled', (counts.get('spilled') ?? 0) + target.spilled.length);
  }
  for (const family of [4, 6] as const) {
    counts.set(`sets_${family}`, unions.networks[family].length);
  }
  const growing = /^(?:lines|small|large|prefix|sets)_[46]$|^spilled$|^wides$/;
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      if (name === 'counters')
        return [
          name,
          { ...shape, maxEntries: (slots / LAYOUT.COUNTERS_IN_VALUE) * LAYOUT.REASONS },
        ];
      if (!growing.test(name)) return [name, shape];
      return [name, { ...shape, maxEntries: roomFor(counts.get(name) ?? 0) }];
    }),
  );
}

/**
 * For half as many again. Not more: a table that is larger than it must be is one that caches hold less of.
 */
function roomFor(count: number): number {
  let room = SMALLEST;
  while (room < count * 1.5) room *= 2;
  return room;
}
