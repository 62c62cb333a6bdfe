import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { containsCidr } from '@portcullis/core/net/cidr.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import { Needs, withoutRoom } from './capacity.ts';

/**
 * What is loaded, by target, and which of it is left to nftables because there is no room. Where an address is left, the
 * prefixes around it are too: they would judge it by their own rules. Who is held stays held, whoever comes.
 */
export class Targets {
  readonly #limit: number;
  readonly #byName = new Map<string, EarlyTarget>();
  readonly #prefixes: Readonly<Record<Family, Map<string, EarlyTarget>>> = {
    4: new Map(),
    6: new Map(),
  };
  readonly #left = new Map<string, EarlyTarget>();
  #needs = new Needs();
  /** What `again` answers, until something changes. */
  #again: readonly EarlyTarget[] | null = null;

  /** `limit`: of targets, and of what each map has for them. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Those that are left to nftables. */
  get left(): ReadonlyMap<string, EarlyTarget> {
    return this.#left;
  }

  held(): EarlyTarget[] {
    return [...this.#byName.values()].filter(({ target }) => !this.#left.has(target));
  }

  /** Those that would be held of these. */
  heldOf(targets: readonly EarlyTarget[]): EarlyTarget[] {
    if (this.#limit === Infinity) return [...targets];
    const others = new Targets(this.#limit);
    others.#replace(targets, this.#heldNames());
    return others.held();
  }

  replace(targets: readonly EarlyTarget[]): void {
    this.#replace(targets, this.#heldNames());
  }

  #heldNames(): Set<string> {
    return new Set(this.held().map(({ target }) => target));
  }

  #replace(targets: readonly EarlyTarget[], held: ReadonlySet<string>): void {
    this.#byName.clear();
    this.#prefixes[4].clear();
    this.#prefixes[6].clear();
    this.#needs = new Needs();
    this.#left.clear();
    for (const target of targets) this.#set(target);
    this.#choose(targets, held);
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    const isNew = ({ target }: EarlyTarget): boolean =>
      !this.#byName.has(target) || this.#left.has(target);
    const news = new Set(set.filter(isNew).map(({ target }) => target));
    for (const name of removed) this.#delete(name);
    for (const target of set) this.#set(target);
    if (this.#left.size === 0 && this.#needs.most <= this.#limit) return;
    const wanted = this.held();
    const held = wanted.filter(({ target }) => !news.has(target)).map(({ target }) => target);
    this.#choose(wanted, new Set(held));
  }

  /** The kernel has no room for it. */
  leave(target: EarlyTarget): void {
    this.#leave([target]);
  }

  /** The kernel has no room for those held: half as many. False: there is none. */
  halve(): boolean {
    const held = this.held();
    const needs = new Needs();
    for (const target of held) needs.add(target);
    this.#leave(withoutRoom(held, Math.floor(needs.most / 2)));
    return held.length > 0;
  }

  /** Of those left, the ones that there is room for now. */
  again(): readonly EarlyTarget[] {
    if (this.#left.size === 0) return [];
    if (this.#again !== null) return this.#again;
    const left = [...this.#left.values()].toSorted(narrowFirst);
    const without = withoutRoom([...this.held(), ...left], this.#limit);
    const still = new Set([...without, ...this.#around(without)]);
    this.#again = left.filter((target) => !still.has(target));
    return this.#again;
  }

  hasPrefixes(family: Family): boolean {
    return this.#prefixes[family].size > 0;
  }

  #choose(wanted: readonly EarlyTarget[], held: ReadonlySet<string>): void {
    this.#again = null;
    if (this.#needs.most <= this.#limit && this.#left.size === 0) return;
    const first = wanted.filter(({ target }) => held.has(target));
    const news = wanted.filter(({ target }) => !held.has(target)).toSorted(narrowFirst);
    this.#leave([...this.#left.values(), ...withoutRoom([...first, ...news], this.#limit)]);
  }

  #leave(targets: readonly EarlyTarget[]): void {
    this.#again = null;
    for (const one of [...targets, ...this.#around(targets)]) this.#left.set(one.target, one);
  }

  #around(targets: readonly EarlyTarget[]): EarlyTarget[] {
    return ([4, 6] as const).flatMap((family) =>
      [...this.#prefixes[family].values()].filter(({ cidr }) =>
        targets.some((one) => one.cidr.length > cidr.length && containsCidr(cidr, one.cidr)),
      ),
    );
  }

  #set(target: EarlyTarget): void {
    this.#forget(target.target);
    this.#byName.set(target.target, target);
    this.#needs.add(target);
    const { family, length } = target.cidr;
    if (length < BITS[family]) this.#prefixes[family].set(target.target, target);
  }

  #delete(name: string): void {
    this.#forget(name);
    this.#byName.delete(name);
  }

  /** Its place in the order stays. */
  #forget(name: string): void {
    const target = this.#byName.get(name);
    if (target === undefined) return;
    this.#again = null;
    this.#left.delete(name);
    this.#needs.remove(target);
    this.#prefixes[target.cidr.family].delete(name);
  }
}

/** By how many addresses they hold, whatever the family. */
export function narrowFirst(a: EarlyTarget, b: EarlyTarget): number {
  return hostBits(a) - hostBits(b);
}

function hostBits({ cidr }: EarlyTarget): number {
  return BITS[cidr.family] - cidr.length;
}
