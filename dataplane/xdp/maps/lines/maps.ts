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
  /** Targets by the hashes that stand in the table. */
  readonly names: Map<number, string>;
  readonly lines: Descriptor;
}

/** A target with the place of its counters. */
interface Slotted {
  readonly target: EarlyTarget;
  readonly slot: number;
}
interface Planned extends Slotted {
  readonly hash: number;
  readonly plan: PlannedLine;
}

/**
 * The lines of all targets that have one. Whoever changes the other maps withdraws the line of a target first and
 * sets it afterwards: packets are judged by those maps in between.
 */
export class LineMaps {
  readonly #families: Readonly<Record<Family, LinesOfFamily>>;
  readonly #wides: Descriptor;
  readonly #freeWides: number[];
  readonly #wideOf = new Map<string, number>();
  readonly #slots: number;
  #version = 0;

  /** `slots`: of counters. */
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

  /** How far a hash is shifted to say where a line is. */
  shift(family: Family): number {
    return this.#families[family].table.shift;
  }

  /** Into empty maps, before packets are judged by them. */
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

  /** From now on the other maps judge it. */
  invalidate(target: EarlyTarget): void {
    const index = this.#indexOf(target);
    if (index !== null) invalidateLine(this.#families[target.cidr.family].lines, index);
  }

  /** It is withdrawn, or had none. Without room for its line it goes on without. */
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

  /** Reads back the line of a target; it has none: it does. */
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

  /** A place for one line more. Who stood there is at his new place before. */
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

  /** Nothing but the version changes while it is not 0. */
  #write(lines: Descriptor, index: number, line: Buffer): void {
    line.writeUInt16LE(0, 0);
    updateElement(lines, keyOf(index), line);
    line.writeUInt16LE(this.#nextVersion(), 0);
    updateElement(lines, keyOf(index), line);
  }

  /** Null: there is no room for its bits. */
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

/** How many lines, and wides, there must be room for. */
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
