import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import type { Chain, CompiledTarget, SourceSetUnion } from './compile.ts';
import { networksOf } from './match.ts';
import { filterHooks } from './filter-hooks.ts';
import { filterIntervals } from './filter-prefixes.ts';
import { type Interval, intervalsOf } from './intervals.ts';
import { type Dispatch, dispatchMap, PORT_DISPATCHES } from './names.ts';
import type { EdgeRules } from './base-chain.ts';

/** Everything the table holds, of now. What is rendered depends on it alone. */
export interface Layout {
  readonly rules: EdgeRules;
  readonly targets: ReadonlyMap<string, CompiledTarget>;
  readonly chains: ReadonlyMap<string, Chain>;
  /** Elements of every hash map in use, by its name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Of every interval map, by its name. */
  readonly prefixes: ReadonlyMap<string, readonly Interval[]>;
  readonly sets: ReadonlyMap<string, SourceSetContent>;
  readonly sourceSets: SourceSets;
  readonly elements: number;
}

export interface SourceSetContent {
  readonly union: SourceSetUnion;
  readonly networks: readonly string[];
}

export const FAMILIES = [4, 6] as const satisfies readonly Family[];
const HASHED: readonly Dispatch[] = ['port', 'address', 'filter', ...PORT_DISPATCHES];

/** `before` saves work where source sets are the same; of the result it changes only hooks that outlive their use. */
export function planLayout(
  rules: EdgeRules,
  targets: ReadonlyMap<string, CompiledTarget>,
  sourceSets: SourceSets,
  before: Layout | null = null,
): Layout {
  const chains = new Map<string, Chain>();
  const counts = new Map<string, number>(
    HASHED.flatMap((dispatch) => FAMILIES.map((family) => [dispatchMap(dispatch, family), 0])),
  );
  let elements = 0;
  for (const target of targets.values()) {
    for (const [name, chain] of target.chains) chains.set(name, chain);
    for (const { map } of target.elements) counts.set(map, (counts.get(map) ?? 0) + 1);
    elements += target.elements.length;
  }
  const prefixTargets = [...targets.values()].filter((target) => target.prefixChain !== null);
  const prefixes = new Map<string, readonly Interval[]>(
    FAMILIES.map((family) => [
      dispatchMap('prefix', family),
      intervalsOf(prefixTargets, family, ({ prefixChain }) => prefixChain),
    ]),
  );
  for (const [map, intervals] of filterIntervals(targets, prefixTargets))
    prefixes.set(map, intervals);
  const sets = new Map<string, SourceSetContent>();
  for (const union of [...chains.values()].flatMap((chain) => chain.sets)) {
    const known = before?.sourceSets === sourceSets ? before.sets.get(union.name) : undefined;
    if (!sets.has(union.name)) sets.set(union.name, known ?? contentOf(union, sourceSets));
  }
  for (const [name, chain] of filterHooks(rules, counts, prefixes, before)) chains.set(name, chain);
  for (const intervals of prefixes.values()) elements += intervals.length;
  return { rules, targets, chains, counts, prefixes, sets, sourceSets, elements };
}

function contentOf(union: SourceSetUnion, sourceSets: SourceSets): SourceSetContent {
  const networks = mergeCidrs(networksOf(sourceSets, union.names, union.family));
  return { union, networks: networks.map(formatNetwork) };
}
