import type { Family } from '@portcullis/core/net/address.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { VersionedMap } from '../../compile/versioned-map.ts';
import type { Chain, CompiledTarget } from '../policy/compiled.ts';
import { NAMED_SOURCES } from '../policy/named-sources.ts';

/** The reference counts of all targets. Updated from version to version by their differences. */
export interface ReferenceCounts {
  /** The chains that targets refer to. */
  readonly chains: VersionedMap<Chain>;
  /** The number of targets that use each chain. */
  readonly users: VersionedMap<number>;
  /** The number of elements of each hash map in use. */
  readonly counts: ReadonlyMap<string, number>;
  readonly elements: number;
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
  const prefixes: [string, CompiledTarget | undefined][] = [];
  let { elements } = references;
  const count = (target: CompiledTarget, sign: 1 | -1): void => {
    elements += sign * target.elements.length;
    for (const { map } of target.elements) counts.set(map, (counts.get(map) ?? 0) + sign);
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
    chains: references.chains.with(chains),
    users: references.users.with(withoutUnused(users)),
    counts,
    elements,
    sources: references.sources.with(withoutUnused(sources)),
    prefixes: references.prefixes.with(prefixes),
  };
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
