import type { Family } from '@portcullis/core/net/address.ts';
import {
  type Descriptor,
  lookupElement,
  mapShapeOf,
  updateElement,
  updateElements,
} from '../../../kernel/bpf/bpf.ts';
import { addressBytes, addressHash } from '../layout.ts';
import type { EarlyTarget } from '../../compile/early-target.ts';
import { LineTable } from './table.ts';
import { type EncodedLine, encodeLine, LINE_BYTES, type PlannedLine, planLine } from './encode.ts';

interface LinesOfFamily {
  readonly table: LineTable;
  /** Target names by hash. */
  readonly names: Map<number, string>;
  readonly lines: Descriptor;
}

/** A target with its counter slot. */
interface Slotted {
  readonly target: EarlyTarget;
  readonly slot: number;
}
interface Planned extends Slotted {
  readonly hash: number;
  readonly plan: PlannedLine;
}

/**
 * The lines of all targets that have one. To change the other maps, call `invalidate` first and `set` afterwards: in
 * between, the other maps evaluate the target.
 */
export class LineMaps {
  readonly #families: Readonly<Record<Family, LinesOfFamily>>;
  readonly #wides: Descriptor;
  readonly #freeWides: number[];
  readonly #wideOf = new Map<string, number>();
  readonly #slots: number;
  #version = 0;

  /** `slots`: the number of counter slots. */
  constructor(map: (name: string) => Descriptor, slots: number) {
    this.#slots = slots;
    this.#wides = map('wides');
    const count = mapShapeOf(this.#wides).maxEntries;
    this.#freeWides = Array.from({ length: count }, (_, index) => count - 1 - index);
    const ofFamily = (family: Family): LinesOfFamily => {
      const lines = map(`lines_${family}`);
      const table = new LineTable(mapShapeOf(lines).maxEntries);
      return { table, names: new Map(), lines };
    };
    this.#families = { 4: ofFamily(4), 6: ofFamily(6) };
  }

  /** The shift from a hash to the first index. */
  shift(family: Family): number {
    return this.#families[family].table.shift;
  }

  /** Fills empty maps before any packet is evaluated. */
  load(targets: readonly Slotted[]): void {
    for (const family of [4, 6] as const) {
      const { table, names, lines } = this.#families[family];
      const planned = new Map(
        targets.flatMap((one) => planFor(one, family)).map((one) => [one.hash, one]),
      );
      for (const hash of planned.keys()) table.add(hash);
      const keys: Buffer[] = [];
      const values: Buffer[] = [];
      for (const [hash, one] of planned) {
        const index = table.indexOf(hash);
        const encoded = index === null ? null : this.#encode(one);
        if (index === null || encoded === null) continue;
        names.set(hash, one.target.target);
        encoded.line.writeUInt16LE(this.#nextVersion(), 0);
        keys.push(keyOf(index));
        values.push(encoded.line);
      }
      updateElements(lines, Buffer.concat(keys), Buffer.concat(values), keys.length);
    }
  }

  /** From now on the other maps evaluate the target. */
  invalidate(target: EarlyTarget): void {
    const index = this.#indexOf(target);
    if (index !== null) invalidateLine(this.#families[target.cidr.family].lines, index);
  }

  /** Writes the line of an invalidated target. If it does not fit, the other maps go on evaluating the target. */
  set({ target, slot }: Slotted): void {
    const { family } = target.cidr;
    const { table, names, lines } = this.#families[family];
    const [planned] = planFor({ target, slot }, family);
    const encoded = planned === undefined ? null : this.#encode(planned);
    if (planned === undefined || encoded === null) {
      this.remove(target);
      return;
    }
    const { hash } = planned;
    const holder = names.get(hash);
    if (holder !== undefined && holder !== target.target) return;
    const index = table.indexOf(hash) ?? this.#allocate(hash, family);
    if (index === null) return;
    names.set(hash, target.target);
    this.#write(lines, index, encoded.line);
  }

  /** Reads back the line of a target. Returns true if the target has none. */
  isIntact({ target, slot }: Slotted): boolean {
    const { lines } = this.#families[target.cidr.family];
    const plan = planLine(target);
    const index = this.#indexOf(target);
    if (plan === null || index === null) return true;
    const wide = this.#wideOf.get(target.target) ?? 0;
    const wanted = encodeLine(plan, { slot, slots: this.#slots, wide });
    const line = readLine(lines, index);
    if (line.readUInt16LE(0) === 0 || !line.subarray(2).equals(wanted.line.subarray(2)))
      return false;
    if (wanted.wide === null) return true;
    const read = Buffer.alloc(wanted.wide.length);
    return lookupElement(this.#wides, keyOf(wide), read) && read.equals(wanted.wide);
  }

  remove(target: EarlyTarget): void {
    const index = this.#indexOf(target);
    if (index !== null) {
      const { table, names, lines } = this.#families[target.cidr.family];
      clear(lines, index);
      const hash = hashOf(target);
      table.remove(hash);
      names.delete(hash);
    }
    this.#freeWide(target.target);
  }

  #indexOf({ target, cidr }: EarlyTarget): number | null {
    const { table, names } = this.#families[cidr.family];
    const hash = hashOf({ cidr });
    return names.get(hash) === target ? table.indexOf(hash) : null;
  }

  /** Returns an index for a new line, after moving the line there to its other index. */
  #allocate(hash: number, family: Family): number | null {
    const { table, lines } = this.#families[family];
    const added = table.add(hash);
    if (added === null) return null;
    if (added.moved !== null) {
      this.#write(lines, added.moved.to, readLine(lines, added.moved.from));
      clear(lines, added.moved.from);
    }
    return added.index;
  }

  /** The version is 0 while other fields change. */
  #write(lines: Descriptor, index: number, line: Buffer): void {
    line.writeUInt16LE(0, 0);
    updateElement(lines, keyOf(index), line);
    line.writeUInt16LE(this.#nextVersion(), 0);
    updateElement(lines, keyOf(index), line);
  }

  /** Returns null if there is no free `struct wide`. */
  #encode({ target, slot, plan }: Planned): EncodedLine | null {
    if (!plan.isWide) this.#freeWide(target.target);
    const wide = plan.isWide ? this.#takeWide(target.target) : 0;
    if (wide === null) return null;
    const encoded = encodeLine(plan, { slot, slots: this.#slots, wide });
    if (encoded.wide !== null) updateElement(this.#wides, keyOf(wide), encoded.wide);
    return encoded;
  }

  #takeWide(name: string): number | null {
    const wide = this.#wideOf.get(name) ?? this.#freeWides.pop();
    if (wide === undefined) return null;
    this.#wideOf.set(name, wide);
    return wide;
  }

  #freeWide(name: string): void {
    const wide = this.#wideOf.get(name);
    if (wide === undefined) return;
    this.#wideOf.delete(name);
    this.#freeWides.push(wide);
  }

  #nextVersion(): number {
    this.#version = this.#version === 0xffff ? 1 : this.#version + 1;
    return this.#version;
  }
}

/** The numbers of lines and of `struct wide` that targets need. */
export function countLines(targets: readonly EarlyTarget[]): Readonly<Record<string, number>> {
  const plans = targets.flatMap((target) => planLine(target) ?? []);
  const ofFamily = (family: Family): number =>
    plans.filter(({ cidr }) => cidr.family === family).length;
  return {
    lines_4: ofFamily(4),
    lines_6: ofFamily(6),
    wides: plans.filter(({ isWide }) => isWide).length,
  };
}

function planFor({ target, slot }: Slotted, family: Family): Planned[] {
  const plan = target.cidr.family === family ? planLine(target) : null;
  return plan === null ? [] : [{ target, slot, plan, hash: hashOf(target) }];
}

function hashOf({ cidr }: Pick<EarlyTarget, 'cidr'>): number {
  return addressHash(cidr.family, addressBytes(cidr));
}

function readLine(lines: Descriptor, index: number): Buffer {
  const line = Buffer.alloc(LINE_BYTES);
  lookupElement(lines, keyOf(index), line);
  return line;
}

function invalidateLine(lines: Descriptor, index: number): void {
  const line = readLine(lines, index);
  line.writeUInt16LE(0, 0);
  updateElement(lines, keyOf(index), line);
}

function clear(lines: Descriptor, index: number): void {
  invalidateLine(lines, index);
  updateElement(lines, keyOf(index), Buffer.alloc(LINE_BYTES));
}

function keyOf(number: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeUInt32LE(number, 0);
  return key;
}
