import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import { type Cidr, compareCidrs, containsCidr } from '@portcullis/core/net/cidr.ts';
import { networksOf } from '../../compile/match.ts';
import type { Unions } from '../maps/layout.ts';
import type { EarlyTarget } from './early-target.ts';

/** The unions of source sets that rules use, as networks with one bit for each union. */
export interface UnionTable {
  readonly numbers: Unions;
  readonly networks: Readonly<Record<Family, readonly UnionNetwork[]>>;
}
export interface UnionNetwork {
  readonly cidr: Cidr;
  /** One bit for each union that contains the network. The longest network that contains a source has all its bits. */
  readonly bits: bigint;
}

export const NO_UNIONS: UnionTable = { numbers: new Map(), networks: { 4: [], 6: [] } };

/** Bits of a value. Further unions are left to nftables. */
const MAX_UNIONS = 64;

/** `required`: the names of the sets in each union. */
export function planUnions(
  required: ReadonlyMap<string, readonly string[]>,
  sets: SourceSets,
): UnionTable {
  const names = [...required.keys()].toSorted().slice(0, MAX_UNIONS);
  const numbers = new Map(names.map((name, index) => [name, index]));
  const ofFamily = (family: Family): UnionNetwork[] =>
    layered(names.map((name) => mergeCidrs(networksOf(sets, required.get(name) ?? [], family))));
  return { numbers, networks: { 4: ofFamily(4), 6: ofFamily(6) } };
}

/** Gives each network the bits of all networks that contain it, by a sweep with the enclosing networks on a stack. */
function layered(unions: readonly (readonly Cidr[])[]): UnionNetwork[] {
  const marked = unions.flatMap((networks, index) =>
    networks.map((cidr) => ({ cidr, bits: 1n << BigInt(index) })),
  );
  marked.sort((a, b) => compareCidrs(a.cidr, b.cidr));
  const around: { cidr: Cidr; bits: bigint }[] = [];
  const found: { cidr: Cidr; bits: bigint }[] = [];
  for (const { cidr, bits } of marked) {
    while (around.length > 0 && !containsCidr((around.at(-1) as UnionNetwork).cidr, cidr)) {
      around.pop();
    }
    const outer = around.at(-1);
    if (outer !== undefined && outer.cidr.length === cidr.length) {
      outer.bits |= bits;
      continue;
    }
    const network = { cidr, bits: bits | (outer?.bits ?? 0n) };
    around.push(network);
    found.push(network);
  }
  return found;
}

/** The names of the sets in each union that rules use. */
export type RequiredUnions = ReadonlyMap<string, readonly string[]>;

export function usesUnions(target: EarlyTarget | undefined): boolean {
  return target !== undefined && target.unions.size > 0;
}

export function requiredUnions(targets: Iterable<EarlyTarget>): RequiredUnions {
  const required = new Map<string, readonly string[]>();
  for (const { unions } of targets) for (const [name, sets] of unions) required.set(name, sets);
  return required;
}

export function sameNames(a: RequiredUnions, b: RequiredUnions): boolean {
  return a.size === b.size && [...a.keys()].every((name) => b.has(name));
}

/** The union table of the next load. It is large, so it is forgotten after the load. */
export class UnionTableCache {
  #made: { required: RequiredUnions; version: string; table: UnionTable } | null = null;

  /** Returns the same object if neither the unions nor the data changed. */
  table(required: RequiredUnions, sourceSets: SourceSets): UnionTable {
    const made = this.#made;
    if (made?.version === sourceSets.version && sameNames(made.required, required))
      return made.table;
    const table = required.size === 0 ? NO_UNIONS : planUnions(required, sourceSets);
    this.#made = { required: required, version: sourceSets.version, table };
    return table;
  }

  forget(): void {
    this.#made = null;
  }
}
