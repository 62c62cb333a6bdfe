import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import type { Chain, CompiledTarget, SourceSetUnion } from '../policy/compiled.ts';
import { networksOf } from '../../compile/match.ts';
import { filterHooks } from '../filters/hooks.ts';
import { filterIntervals } from '../filters/prefixes.ts';
import { type Interval, intervalsOf } from '../policy/intervals.ts';
import { type Dispatch, dispatchMap, PORT_DISPATCHES } from '../names.ts';
import type { VerdictNumbers } from './verdict-numbers.ts';
import { NO_REFERENCES, type ReferenceCounts, referencesAfter } from './reference-counts.ts';
import type { EdgeRules } from './edge-rules.ts';

/** The contents of the table. The rendered text depends only on it. */
export interface Layout {
  readonly rules: EdgeRules;
  readonly targets: ReadonlyMap<string, CompiledTarget>;
  readonly chains: ReadonlyMap<string, Chain>;
  /** The verdicts of each verdict map, by its name. */
  readonly verdicts: ReadonlyMap<string, VerdictNumbers>;
  /** The number of elements of each hash map in use, by name. */
  readonly counts: ReadonlyMap<string, number>;
  /** The intervals of each interval map, by name. */
  readonly prefixes: ReadonlyMap<string, readonly Interval[]>;
  readonly sets: ReadonlyMap<string, SourceSetContent>;
  readonly sourceSets: SourceSets;
  readonly elements: number;
  /** The base of the next incremental plan. */
  readonly references: ReferenceCounts;
}

export interface SourceSetContent {
  readonly union: SourceSetUnion;
  readonly networks: readonly string[];
}

export const FAMILIES = [4, 6] as const satisfies readonly Family[];
const HASHED: readonly Dispatch[] = ['port', 'address', 'filter', ...PORT_DISPATCHES];

/**
 * Plans the layout of all targets. `before` allows an incremental plan; it affects only hooks that stay after their
 * last user.
 */
export function planLayout(
  rules: EdgeRules,
  targets: ReadonlyMap<string, CompiledTarget>,
  sourceSets: SourceSets,
  before: Layout | null = null,
): Layout {
  const known = before?.references ?? NO_REFERENCES;
  const references = referencesAfter(known, before?.targets ?? new Map(), targets);
  const same =
    before !== null && references.prefixes === known.prefixes && !usesFilters(references);
  const prefixes = same ? before.prefixes : prefixesOf(targets, references);
  const sets =
    before !== null && before.sourceSets === sourceSets && references.chains === known.chains
      ? before.sets
      : setsOf(references.chains, sourceSets, before);
  const { numbers: verdicts } = references;
  let { elements } = references;
  for (const intervals of prefixes.values()) elements += intervals.length;
  const counts = new Map(
    HASHED.flatMap((dispatch) => FAMILIES.map((family) => [dispatchMap(dispatch, family), 0])),
  );
  for (const [map, count] of references.counts) counts.set(map, count);
  for (const [map, numbers] of verdicts) counts.set(map, numbers.size);
  const chains = references.chains.with(filterHooks(rules, counts, prefixes, before));
  return {
    rules,
    targets,
    chains,
    verdicts,
    counts,
    prefixes,
    sets,
    sourceSets,
    elements,
    references,
  };
}

function prefixesOf(
  targets: ReadonlyMap<string, CompiledTarget>,
  { prefixes }: ReferenceCounts,
): Map<string, readonly Interval[]> {
  const prefixTargets = [...prefixes.values()];
  return new Map<string, readonly Interval[]>([
    ...FAMILIES.map(
      (family) =>
        [
          dispatchMap('prefix', family),
          intervalsOf(prefixTargets, family, ({ prefixChain }) => prefixChain),
        ] as const,
    ),
    ...filterIntervals(targets, prefixTargets),
  ]);
}

/** Whether a prefix has filters. Then every address may be a hole in it. */
function usesFilters({ prefixes }: ReferenceCounts): boolean {
  return [...prefixes.values()].some(({ filters }) => filters.prefixChains.size > 0);
}

function setsOf(
  chains: ReadonlyMap<string, Chain>,
  sourceSets: SourceSets,
  before: Layout | null,
): Map<string, SourceSetContent> {
  const sets = new Map<string, SourceSetContent>();
  for (const chain of chains.values()) {
    for (const union of chain.sets) {
      if (sets.has(union.name)) continue;
      const known = before?.sourceSets === sourceSets ? before.sets.get(union.name) : undefined;
      sets.set(union.name, known ?? contentOf(union, sourceSets));
    }
  }
  return sets;
}

function contentOf(union: SourceSetUnion, sourceSets: SourceSets): SourceSetContent {
  const networks = mergeCidrs(networksOf(sourceSets, union.names, union.family));
  return { union, networks: networks.map(formatNetwork) };
}
