import type { Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { PortDispatch } from '../names.ts';

/** What one target needs in the kernel. Depends on its policy only, never on other targets. */
export interface CompiledTarget {
  readonly target: string;
  readonly cidr: Cidr;
  /** Of single addresses. */
  readonly elements: readonly Element[];
  /** Of prefixes: the chain that judges, through the interval map. */
  readonly prefixChain: string | null;
  /** Of single addresses: keys of the sources that are looked up (`named-sources.ts`), which other targets share. */
  readonly sources: readonly number[];
  readonly filters: TargetFilters;
  /** Chains that elements go to, by name. A name stands for its content, so targets share them. */
  readonly chains: ReadonlyMap<string, Chain>;
}

export interface Element {
  readonly map: string;
  readonly key: string;
  readonly verdict: string;
}

export interface Chain {
  /** Of a base chain: where in the kernel, with its priority and policy. */
  readonly hook?: string;
  readonly statements: readonly string[];
  /** Source sets that the statements ask, and maps that they look into. */
  readonly sets: readonly SourceSetUnion[];
  readonly maps: readonly string[];
}

/** Sources of several sets together, as one interval set of a family. */
export interface SourceSetUnion {
  readonly name: string;
  readonly family: Family;
  readonly names: readonly string[];
}

/** What the layout must know of a target's filters. */
export interface TargetFilters {
  /** By `tcp 25565`: the verdict that stands for its filters, another where they differ. Without those of mitigations. */
  readonly programs: ReadonlyMap<string, string>;
  /** Types that this version does not know, and leaves out. */
  readonly unknown: readonly string[];
  /** Ports that a dispatch knows. */
  readonly ports: ReadonlyMap<PortDispatch, ReadonlySet<number>>;
  /** Of prefixes: where their intervals lead. */
  readonly prefixChains: ReadonlyMap<PortDispatch, string>;
}
