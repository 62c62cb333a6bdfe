import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import { compareCidrs, formatNetwork, lastValue } from '@portcullis/core/net/cidr.ts';
import type { Chain, CompiledTarget, SourceSetUnion } from './compile.ts';
import { networksOf } from './match.ts';
import { type Dispatch, dispatchMap } from './names.ts';
import type { EdgeRules } from './base-chain.ts';

/** Everything the table holds, of now. What is rendered depends on it alone. */
export interface Layout {
  readonly rules: EdgeRules;
  readonly targets: ReadonlyMap<string, CompiledTarget>;
  readonly chains: ReadonlyMap<string, Chain>;
  /** Elements of every hash map in use, by its name. */
  readonly counts: ReadonlyMap<string, number>;
  readonly prefixes: Readonly<Record<Family, readonly Interval[]>>;
  readonly sets: ReadonlyMap<string, SourceSetContent>;
  readonly sourceSets: SourceSets;
  readonly elements: number;
}

export interface Interval {
  readonly range: string;
  readonly chain: string;
}

export interface SourceSetContent {
  readonly union: SourceSetUnion;
  readonly networks: readonly string[];
}

export const FAMILIES = [4, 6] as const satisfies readonly Family[];
const HASHED: readonly Dispatch[] = ['port', 'protocol', 'address'];

/** `before` saves work where source sets are the same; it never changes the result. */
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
  const prefixes = { 4: intervalsOf(prefixTargets, 4), 6: intervalsOf(prefixTargets, 6) };
  const sets = new Map<string, SourceSetContent>();
  for (const union of [...chains.values()].flatMap((chain) => chain.sets)) {
    const known = before?.sourceSets === sourceSets ? before.sets.get(union.name) : undefined;
    if (!sets.has(union.name)) sets.set(union.name, known ?? contentOf(union, sourceSets));
  }
  elements += prefixes[4].length + prefixes[6].length;
  return { rules, targets, chains, counts, prefixes, sets, sourceSets, elements };
}

function contentOf(union: SourceSetUnion, sourceSets: SourceSets): SourceSetContent {
  const networks = mergeCidrs(networksOf(sourceSets, union.names, union.family));
  return { union, networks: networks.map(formatNetwork) };
}

/**
 * Nested prefixes as disjoint intervals, each judged by the longest prefix around it: a sweep over where
 * prefixes begin, the innermost open one on top of a stack.
 */
function intervalsOf(targets: readonly CompiledTarget[], family: Family): Interval[] {
  const sorted = targets
    .filter((target) => target.cidr.family === family)
    .toSorted((a, b) => compareCidrs(a.cidr, b.cidr));
  const intervals: Interval[] = [];
  const open: CompiledTarget[] = [];
  let next = 0n;
  const closeBefore = (limit: bigint): void => {
    for (
      let top = open.at(-1);
      top !== undefined && lastValue(top.cidr) < limit;
      top = open.at(-1)
    ) {
      add(next, lastValue(top.cidr), top);
      next = lastValue(top.cidr) + 1n;
      open.pop();
    }
  };
  const add = (first: bigint, last: bigint, { prefixChain }: CompiledTarget): void => {
    if (first > last || prefixChain === null) return;
    intervals.push({ range: rangeText(family, first, last), chain: prefixChain });
  };
  for (const target of sorted) {
    closeBefore(target.cidr.value);
    const around = open.at(-1);
    if (around !== undefined) add(next, target.cidr.value - 1n, around);
    next = target.cidr.value;
    open.push(target);
  }
  closeBefore(1n << BigInt(BITS[family]));
  return intervals;
}

function rangeText(family: Family, first: bigint, last: bigint): string {
  const text = (value: bigint): string => formatAddress({ family, value });
  return first === last ? text(first) : `${text(first)}-${text(last)}`;
}
