import type { Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { PortDispatch } from '../names.ts';

/** The kernel objects of one target. They depend only on its policy. */
export interface CompiledTarget {
  readonly target: string;
  readonly cidr: Cidr;
  /** Single addresses only. */
  readonly elements: readonly Element[];
  /** Prefixes only: the chain to which the interval map leads. */
  readonly prefixChain: string | null;
  /** Single addresses only: the keys of the sources that are looked up (`named-sources.ts`). Targets share them. */
  readonly sources: readonly number[];
  readonly filters: TargetFilters;
  /** The chains that elements refer to, by name. The name is a hash of the content, so targets share them. */
  readonly chains: ReadonlyMap<string, Chain>;
}

export interface Element {
  readonly map: string;
  readonly key: string;
  readonly verdict: string;
}

export interface Chain {
  /** Base chains only: the hook, its priority and policy. */
  readonly hook?: string;
  readonly statements: readonly string[];
  /** The source sets and maps that the statements use. */
  readonly sets: readonly SourceSetUnion[];
  readonly maps: readonly string[];
}

/** The union of several source sets, as one interval set of a family. */
export interface SourceSetUnion {
  readonly name: string;
  readonly family: Family;
  readonly names: readonly string[];
}

export interface TargetFilters {
  /**
   * The verdict of the filters of each port, such as `tcp 25565`, without those of mitigations and without settings.
   * Different filters have different verdicts.
   */
  readonly programs: ReadonlyMap<string, string>;
  /** The same with the settings of their holders, which make nobody reconnect. */
  readonly limits: ReadonlyMap<string, string>;
  /** Filter types that this version does not know and ignores. */
  readonly unknown: readonly string[];
  /** The ports of each dispatch. */
  readonly ports: ReadonlyMap<PortDispatch, ReadonlySet<number>>;
  /** Prefixes only: the chains to which their intervals lead. */
  readonly prefixChains: ReadonlyMap<PortDispatch, string>;
}
