import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { containsCidr } from '@portcullis/core/net/cidr.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import { MapUsage, beyondCapacity } from './capacity.ts';

/**
 * All targets, and which of them exceed the capacity. If an address is excluded, the prefixes that contain it are
 * excluded too: they would evaluate it by their own rules. A loaded target is never displaced by a new one.
 */
export class Targets {
  readonly #limit: number;
  readonly #byName = new Map<string, EarlyTarget>();
  readonly #prefixes: Readonly<Record<Family, Map<string, EarlyTarget>>> = {
    4: new Map(),
    6: new Map(),
  };
  readonly #excluded = new Map<string, EarlyTarget>();
  #usage = new MapUsage();
  /** The cached result of `readmissible`. */
  #readmissible: readonly EarlyTarget[] | null = null;

  /** `limit`: the most targets, and the most elements of each map. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The excluded targets, by name. */
  get beyondCapacity(): ReadonlyMap<string, EarlyTarget> {
    return this.#excluded;
  }

  loaded(): EarlyTarget[] {
    return [...this.#byName.values()].filter(({ target }) => !this.#excluded.has(target));
  }

  /** Selects the targets that `replace` would load. */
  loadable(targets: readonly EarlyTarget[]): EarlyTarget[] {
    if (this.#limit === Infinity) return [...targets];
    const others = new Targets(this.#limit);
    others.#replace(targets, this.#loadedNames());
    return others.loaded();
  }

  replace(targets: readonly EarlyTarget[]): void {
    this.#replace(targets, this.#loadedNames());
  }

  #loadedNames(): Set<string> {
    return new Set(this.loaded().map(({ target }) => target));
  }

  #replace(targets: readonly EarlyTarget[], held: ReadonlySet<string>): void {
    this.#byName.clear();
    this.#prefixes[4].clear();
    this.#prefixes[6].clear();
    this.#usage = new MapUsage();
    this.#excluded.clear();
    for (const target of targets) this.#set(target);
    this.#choose(targets, held);
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    const isNew = ({ target }: EarlyTarget): boolean =>
      !this.#byName.has(target) || this.#excluded.has(target);
    const added = new Set(set.filter(isNew).map(({ target }) => target));
    for (const name of removed) this.#delete(name);
    for (const target of set) this.#set(target);
    if (this.#excluded.size === 0 && this.#usage.highest <= this.#limit) return;
    const wanted = this.loaded();
    const held = wanted.filter(({ target }) => !added.has(target)).map(({ target }) => target);
    this.#choose(wanted, new Set(held));
  }

  /** The kernel refused the target. */
  exclude(target: EarlyTarget): void {
    this.#exclude([target]);
  }

  /** Excludes half of the loaded targets after the kernel refused memory. Returns false if nothing is loaded. */
  halve(): boolean {
    const held = this.loaded();
    const usage = new MapUsage();
    for (const target of held) usage.add(target);
    this.#exclude(beyondCapacity(held, Math.floor(usage.highest / 2)));
    return held.length > 0;
  }

  /** The excluded targets that fit now. */
  readmissible(): readonly EarlyTarget[] {
    if (this.#excluded.size === 0) return [];
    if (this.#readmissible !== null) return this.#readmissible;
    const left = [...this.#excluded.values()].toSorted(narrowFirst);
    const excluded = beyondCapacity([...this.loaded(), ...left], this.#limit);
    const blocked = new Set([...excluded, ...this.#containing(excluded)]);
    this.#readmissible = left.filter((target) => !blocked.has(target));
    return this.#readmissible;
  }

  hasPrefixes(family: Family): boolean {
    return this.#prefixes[family].size > 0;
  }

  #choose(wanted: readonly EarlyTarget[], held: ReadonlySet<string>): void {
    this.#readmissible = null;
    if (this.#usage.highest <= this.#limit && this.#excluded.size === 0) return;
    const retained = wanted.filter(({ target }) => held.has(target));
    const added = wanted.filter(({ target }) => !held.has(target)).toSorted(narrowFirst);
    this.#exclude([
      ...this.#excluded.values(),
      ...beyondCapacity([...retained, ...added], this.#limit),
    ]);
  }

  #exclude(targets: readonly EarlyTarget[]): void {
    this.#readmissible = null;
    for (const one of [...targets, ...this.#containing(targets)])
      this.#excluded.set(one.target, one);
  }

  #containing(targets: readonly EarlyTarget[]): EarlyTarget[] {
    return ([4, 6] as const).flatMap((family) =>
      [...this.#prefixes[family].values()].filter(({ cidr }) =>
        targets.some((one) => one.cidr.length > cidr.length && containsCidr(cidr, one.cidr)),
      ),
    );
  }

  #set(target: EarlyTarget): void {
    this.#discount(target.target);
    this.#byName.set(target.target, target);
    this.#usage.add(target);
    const { family, length } = target.cidr;
    if (length < BITS[family]) this.#prefixes[family].set(target.target, target);
  }

  #delete(name: string): void {
    this.#discount(name);
    this.#byName.delete(name);
  }

  /** Keeps the position in the insertion order. */
  #discount(name: string): void {
    const target = this.#byName.get(name);
    if (target === undefined) return;
    this.#readmissible = null;
    this.#excluded.delete(name);
    this.#usage.remove(target);
    this.#prefixes[target.cidr.family].delete(name);
  }
}

/** Orders by the number of addresses, independent of the family. */
export function narrowFirst(a: EarlyTarget, b: EarlyTarget): number {
  return hostBits(a) - hostBits(b);
}

function hostBits({ cidr }: EarlyTarget): number {
  return BITS[cidr.family] - cidr.length;
}
