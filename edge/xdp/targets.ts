import { BITS, type Family } from '@portcullis/core/net/address.ts';
import type { EarlyTarget } from './compile.ts';

/** What is loaded, by target. Knows without looking whether prefixes are among them. */
export class Targets {
  readonly #byName = new Map<string, EarlyTarget>();
  readonly #prefixes: Record<Family, number> = { 4: 0, 6: 0 };

  replace(targets: readonly EarlyTarget[]): void {
    this.#byName.clear();
    this.#prefixes[4] = 0;
    this.#prefixes[6] = 0;
    for (const target of targets) this.set(target);
  }

  set(target: EarlyTarget): void {
    this.delete(target.target);
    this.#byName.set(target.target, target);
    this.#count(target, 1);
  }

  delete(name: string): void {
    const target = this.#byName.get(name);
    if (target === undefined) return;
    this.#byName.delete(name);
    this.#count(target, -1);
  }

  all(): EarlyTarget[] {
    return [...this.#byName.values()];
  }

  hasPrefixes(family: Family): boolean {
    return this.#prefixes[family] > 0;
  }

  #count({ cidr }: EarlyTarget, change: number): void {
    if (cidr.length < BITS[cidr.family]) this.#prefixes[cidr.family] += change;
  }
}
