import type { Family } from '@portcullis/core/net/address.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { VersionedMap } from '../../compile/versioned-map.ts';
import type { Chain, CompiledTarget } from '../policy/compiled.ts';
import { VERDICT_MAPS, verdictMapOf } from '../names.ts';
import { NAMED_SOURCES } from '../policy/named-sources.ts';
import { numbersFor, type VerdictNumbers } from './verdict-numbers.ts';

/** The reference counts of all targets. Updated from version to version by their differences. */
export interface ReferenceCounts {
  /** The chains that targets refer to. */
  readonly chains: VersionedMap<Chain>;
  /** The number of targets that use each chain. */
  readonly users: VersionedMap<number>;
  /** The number of elements of each hash map in use. */
  readonly counts: ReadonlyMap<string, number>;
  readonly elements: number;
  /** The number of elements that have each verdict by its number, by `map verdict`. */
  readonly verdicts: VersionedMap<number>;
  /** The numbers of these verdicts, by the map that has the verdicts. */
  readonly numbers: ReadonlyMap<string, VerdictNumbers>;
  /** The number of targets that use each key of named sources, by `set key`. */
  readonly sources: VersionedMap<number>;
  /** The targets that are prefixes. */
  readonly prefixes: VersionedMap<CompiledTarget>;
}

export const NO_REFERENCES: ReferenceCounts = {
  chains: VersionedMap.from([]),
  users: VersionedMap.from([]),
  counts: new Map(),
  elements: 0,
  verdicts: VersionedMap.from([]),
  numbers: new Map(VERDICT_MAPS.map((map) => [map, new Map()])),
  sources: VersionedMap.from([]),
  prefixes: VersionedMap.from([]),
};

/** Updates `references` of the targets `before`. */
export function referencesAfter(
  references: ReferenceCounts,
  before: ReadonlyMap<string, CompiledTarget>,
  after: ReadonlyMap<string, CompiledTarget>,
): ReferenceCounts {
  const counts = new Map(references.counts);
  const chains = new Map<string, Chain | undefined>();
  const users = new Map<string, number>();
  const sources = new Map<string, number>();
  const verdicts = new Map<string, Map<string, number>>(
    VERDICT_MAPS.map((map) => [map, new Map()]),
  );
  const prefixes: [string, CompiledTarget | undefined][] = [];
  let { elements } = references;
  const count = (target: CompiledTarget, sign: 1 | -1): void => {
    elements += sign * target.elements.length;
    for (const { map, verdict } of target.elements) {
      counts.set(map, (counts.get(map) ?? 0) + sign);
      const numbered = verdicts.get(verdictMapOf(map) ?? '');
      numbered?.set(verdict, (numbered.get(verdict) ?? 0) + sign);
    }
    for (const key of target.sources) {
      const name = sourceName(target.cidr.family, key);
      sources.set(name, (sources.get(name) ?? references.sources.get(name) ?? 0) + sign);
    }
    for (const [name, chain] of target.chains) {
      users.set(name, (users.get(name) ?? references.users.get(name) ?? 0) + sign);
      if (!references.chains.has(name)) chains.set(name, chain);
    }
  };
  for (const name of changedKeys(before, after)) {
    const [old, now] = [before.get(name), after.get(name)];
    if (old !== undefined) count(old, -1);
    if (now !== undefined) count(now, 1);
    const prefix = now !== undefined && now.prefixChain !== null ? now : undefined;
    if (prefix !== undefined || references.prefixes.has(name)) prefixes.push([name, prefix]);
  }
  for (const [name, used] of users) if (used === 0) chains.set(name, undefined);
  for (const [map, some] of counts) if (some === 0) counts.delete(map);
  return {
    ...verdictsAfter(references, verdicts),
    chains: references.chains.with(chains),
    users: references.users.with(withoutUnused(users)),
    counts,
    elements,
    sources: references.sources.with(withoutUnused(sources)),
    prefixes: references.prefixes.with(prefixes),
  };
}

/** `changes`: how many more elements have a verdict, by map and verdict. */
function verdictsAfter(
  { verdicts, numbers }: ReferenceCounts,
  changes: ReadonlyMap<string, ReadonlyMap<string, number>>,
): Pick<ReferenceCounts, 'verdicts' | 'numbers'> {
  const used = new Map<string, number>();
  const renumbered = new Map(numbers);
  for (const [map, some] of changes) {
    const present = new Set(numbers.get(map)?.keys());
    let isSame = true;
    for (const [verdict, more] of some) {
      const name = `${map} ${verdict}`;
      const users = (verdicts.get(name) ?? 0) + more;
      used.set(name, users);
      isSame &&= users > 0 === present.has(verdict);
      if (users > 0) present.add(verdict);
      else present.delete(verdict);
    }
    if (!isSame) renumbered.set(map, numbersFor(present, numbers.get(map) ?? new Map()));
  }
  return { verdicts: verdicts.with(withoutUnused(used)), numbers: renumbered };
}

function withoutUnused(counts: ReadonlyMap<string, number>): [string, number | undefined][] {
  return [...counts].map(([name, used]) => [name, used || undefined]);
}

function sourceName(family: Family, key: number): string {
  return `${NAMED_SOURCES[family]} ${key}`;
}

/** The keys in one family's set, of names as in `ReferenceCounts.sources`. */
export function sourcesOf(family: Family, names: Iterable<string>): string[] {
  const before = `${NAMED_SOURCES[family]} `;
  return [...names]
    .filter((name) => name.startsWith(before))
    .map((name) => name.slice(before.length));
}
