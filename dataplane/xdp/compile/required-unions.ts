import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EarlyTarget } from './early-target.ts';
import { NO_UNIONS, planUnions, type UnionTable } from './unions.ts';

/** Unions of source sets that rules ask, by name. */
export type AskedUnions = ReadonlyMap<string, readonly string[]>;

export function asksUnions(target: EarlyTarget | undefined): boolean {
  return target !== undefined && target.unions.size > 0;
}

export function askedUnions(targets: Iterable<EarlyTarget>): AskedUnions {
  const asked = new Map<string, readonly string[]>();
  for (const { unions } of targets) for (const [name, sets] of unions) asked.set(name, sets);
  return asked;
}

export function sameNames(a: AskedUnions, b: AskedUnions): boolean {
  return a.size === b.size && [...a.keys()].every((name) => b.has(name));
}

/** Their table, made ahead of a load: it is large, and forgotten with it. */
export class AheadUnions {
  #made: { asked: AskedUnions; version: string; table: UnionTable } | null = null;

  /** The same table again where nothing that it is made of has changed. */
  table(asked: AskedUnions, sourceSets: SourceSets): UnionTable {
    const made = this.#made;
    if (made?.version === sourceSets.version && sameNames(made.asked, asked)) return made.table;
    const table = asked.size === 0 ? NO_UNIONS : planUnions(asked, sourceSets);
    this.#made = { asked, version: sourceSets.version, table };
    return table;
  }

  forget(): void {
    this.#made = null;
  }
}
