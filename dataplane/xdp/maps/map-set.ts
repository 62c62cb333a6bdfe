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
import { type EarlyTarget } from '../compile/early-target.ts';
import { reasonsOf } from '../compile/compile.ts';
import { type Encoded, encodeSpilled, encodeTarget, prefixKey, type Unions } from './layout.ts';
import { REASONS, type Reason } from '../compile/early-target.ts';
import { LineMaps } from './lines/maps.ts';
import { roomFor, sized } from './map-sizes.ts';
import { closePrograms, loadPrograms, loadProgramsAside, type Programs } from './programs.ts';
import { Needs } from './capacity.ts';
import { encodeStruck } from '../compile/stateless-drops.ts';
import { type Counted, SlotCounters } from '../counting/slot-counters.ts';
import type { UnionTable } from '../compile/unions.ts';

/** A map is full, or the kernel has no memory for it: a set with more room is needed. */
export class OutOfRoom extends Error {
  override readonly name = 'OutOfRoom';
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
  /** That stands in its elements. */
  readonly version: number;
  readonly elements: readonly Encoded[];
}

/** What a set is made of. */
export interface MapSetParts {
  readonly artifact: BpfArtifact;
  readonly shared: SharedMaps;
  readonly targets: readonly EarlyTarget[];
  readonly unions: UnionTable;
}

/**
 * One generation of the maps with the programs that read them. Elements of a target may change; when a map
 * has no room left, a new set is filled beside this one and takes its place in one step.
 */
export class MapSet {
  #programs: Programs | null = null;
  readonly #maps: Readonly<Record<string, Descriptor>>;
  readonly #held = new Map<string, Held>();
  readonly #freeSlots: number[] = [];
  readonly #needs = new Needs();
  /** Entries of the maps that grow, by name. */
  readonly #rooms = new Map<string, number>();
  /** Targets that there are counters for. */
  readonly slots: number;
  readonly #unions: Unions;
  /** Targets by slot, for samples. */
  readonly #names = new Map<number, string>();
  /** Of targets that were removed, and not told yet. */
  readonly #untold: SlotCount[] = [];
  readonly #owned: Descriptor[] = [];
  readonly #lines: LineMaps;
  readonly #counters: SlotCounters;
  readonly #reasons = new Set<number>();
  #nextSlot = 0;
  #version = 1;

  /** Its maps, empty, and no program. */
  private constructor({ artifact, shared, targets, unions }: MapSetParts) {
    this.#unions = unions.numbers;
    this.slots = roomFor(targets.length);
    const shapes = sized(artifact.maps, targets, this.slots, unions);
    const maps: Record<string, Descriptor> = { ...shared };
    this.#maps = maps;
    try {
      for (const [name, shape] of Object.entries(shapes)) {
        if (name in shared) continue;
        maps[name] = createMap(name, shape);
        this.#owned.push(maps[name]);
        this.#rooms.set(name, shape.maxEntries);
      }
      this.#rooms.set('slots', this.slots);
      this.#counters = new SlotCounters(this.map('counters'), this.slots);
      this.#lines = new LineMaps((name) => this.map(name), this.slots);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Everything is in the maps before any packet sees them. Throws `SystemError`, or `ProgramRefused`. */
  static load(parts: MapSetParts): MapSet {
    const set = new MapSet(parts);
    try {
      set.#fill(parts);
      set.#programs = loadPrograms(parts.artifact, set.#maps);
      return set;
    } catch (error) {
      set.close();
      throw error;
    }
  }

  /** The same; the programs are verified on another thread while this one fills the maps. */
  static async prepare(parts: MapSetParts): Promise<MapSet> {
    const set = new MapSet(parts);
    const loading = loadProgramsAside(parts.artifact, set.#maps);
    const filling = (async () => set.#fill(parts))();
    const [loaded, filled] = await Promise.allSettled([loading, filling]);
    if (loaded.status === 'fulfilled') set.#programs = loaded.value;
    for (const part of [loaded, filled]) {
      if (part.status === 'fulfilled') continue;
      set.close();
      throw part.reason;
    }
    return set;
  }

  get programs(): Programs {
    if (this.#programs === null) throw new Error('the programs are not loaded yet');
    return this.#programs;
  }

  /** It was made of these, and nothing has changed since. */
  isOf(targets: readonly EarlyTarget[]): boolean {
    return (
      this.#held.size === targets.length &&
      targets.every((target) => this.#held.get(target.target)?.target === target)
    );
  }

  /** How far a hash is shifted to say where a line is. */
  lineShift(family: Family): number {
    return this.#lines.shift(family);
  }

  /** Packets go on being judged by it for as long as a link has its program. */
  close(): void {
    this.#owned.forEach(closeDescriptor);
    if (this.#programs !== null) closePrograms(this.#programs);
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

  /** Of REASONS, those that rules here have ever dropped for: nothing is counted for any other. */
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

  has(name: string): boolean {
    return this.#held.has(name);
  }

  /**
   * Adds a target or replaces its rules; each packet is judged by the old ones or the new ones. Throws `OutOfRoom`: then
   * it has what it had, and is to be removed, or to be replaced with its set.
   */
  set(target: EarlyTarget): void {
    const before = this.#held.get(target.target);
    const room = (what: string): number => this.#rooms.get(what) ?? 0;
    if (!this.#needs.fits(target, room, before?.target))
      throw new OutOfRoom(`no room for ${target.target}`);
    const slot = before?.slot ?? this.#takeSlot(target.target);
    const version = this.#nextVersion();
    const elements = this.#encode({ target, slot, version });
    if (before !== undefined) this.#lines.withdraw(before.target);
    try {
      // What others point at first, what points at it last; then what nothing points at any more.
      for (const element of elements)
        updateElement(this.map(element.map), element.key, element.value);
    } catch (error) {
      this.#withdraw({ target, slot, version, elements }, before);
      throw new OutOfRoom(`the kernel has no room for ${target.target}`, { cause: error });
    }
    this.#hold({ target, slot, version, elements: elements.map(withoutValue) });
    if (before !== undefined) this.#removeElements(before.elements, elements);
    this.#lines.set({ target, slot });
  }

  /** Reads back what stands in the maps of a target. */
  holds(name: string): boolean {
    const held = this.#held.get(name);
    if (held === undefined) return true;
    const stands = ({ map, key, value }: Encoded): boolean => {
      const read = Buffer.alloc(value.length);
      return lookupElement(this.map(map), key, read) && read.equals(value);
    };
    return this.#encode(held).every(stands) && this.#lines.holds(held);
  }

  remove(name: string): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    this.#held.delete(name);
    this.#needs.remove(held.target);
    this.#lines.remove(held.target);
    this.#removeElements(held.elements.toReversed(), []);
    this.#untold.push(...this.#named(this.#counters.addedTo(held.slot, this.#reasons)));
    this.#names.delete(held.slot);
    this.#freeSlots.push(held.slot);
  }

  /** What each target has had dropped since the last call. */
  counts(): SlotCount[] {
    const added = this.#named(this.#counters.added(this.#nextSlot, this.#reasons));
    return [...this.#untold.splice(0), ...added];
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
      this.#hold({ target, slot, version, elements: elements.map(withoutValue) });
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

  #hold(held: Held): void {
    const before = this.#held.get(held.target.target);
    if (before !== undefined) this.#needs.remove(before.target);
    this.#needs.add(held.target);
    this.#held.set(held.target.target, held);
  }

  /** What may stand there of one that the kernel took not all of; the element that all others are found by comes last. */
  #withdraw(failed: Held, before: Held | undefined): void {
    const { target } = failed.target;
    if (before === undefined) {
      this.#removeElements(failed.elements, []);
      this.#names.delete(failed.slot);
      this.#freeSlots.push(failed.slot);
    } else {
      const elements = [...failed.elements, ...before.elements].map(withoutValue);
      this.#held.set(target, { ...before, elements });
    }
  }

  #nextVersion(): number {
    this.#version = this.#version === 0xffff_ffff ? 1 : this.#version + 1;
    return this.#version;
  }

  #encode({ target, slot, version }: Omit<Held, 'elements'>): Encoded[] {
    for (const reason of reasonsOf(target)) this.#reasons.add(REASONS.indexOf(reason));
    const place = { slot, version, unions: this.#unions };
    return [
      ...encodeSpilled(target.spilled, slot, version),
      ...encodeStruck(target.strucks, slot),
      ...encodeTarget(target, place),
    ];
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
