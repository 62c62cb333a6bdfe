import type { FilterType } from '../filters/catalogue.ts';

/**
 * What a target (one address, or a prefix) asks of an edge: immutable, complete, no decisions left.
 *
 * Three things read it: `decide` (the oracle), the nftables renderer and, later, the XDP compiler.
 * All strings are canonical (RFC 5952, no host bits), so that equal policies are equal JSON.
 */
export interface Policy {
  /** A single address (`203.0.113.10`, no `/32`) or a prefix (`203.0.113.0/24`). */
  readonly target: string;
  /** Stage 5: what is done against attacks, in the order in which it is asked. */
  readonly mitigations: readonly Mitigation[];
  /** Stage 6, the operator's own rules of every prefix that contains the target. */
  readonly baseline: readonly PolicyRule[];
  /** Stage 8. Every `deny` is read before every `only`. */
  readonly geo: readonly PolicyGeoRule[];
  /** Stages 7 and 9: the holder's own rules and those of its groups, allow before deny. */
  readonly rules: readonly PolicyRule[];
  /** Stage 10. */
  readonly filters: readonly PolicyFilter[];
}

export type RuleAction = 'allow' | 'deny';
export type RuleProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';

export interface PolicyRule {
  /** Who wrote it, for `explain` and counters: `rule:12`, `group-rule:7`, `baseline:3`. */
  readonly ref: string;
  readonly action: RuleAction;
  /** `icmp` means ICMPv6 where the target is IPv6. */
  readonly protocol: RuleProtocol;
  /** Only with tcp and udp; null is any port. */
  readonly port: number | null;
  /** Canonical address or CIDR of the target's family; null is any source. */
  readonly source: string | null;
}

export interface PolicyGeoRule {
  readonly ref: string;
  readonly action: 'deny' | 'only';
  /** Names of source sets, sorted: `country:DE`, `asn:64496`, `list:NAME`. Their contents travel apart, versioned. */
  readonly sets: readonly string[];
}

export interface PolicyFilter {
  readonly ref: string;
  readonly type: FilterType;
  readonly port: number;
  /** Put there by a service, or against an attack, rather than by a caller: neither listed nor counted. */
  readonly managed: boolean;
  /** Sources that it is not there for: of one that came with an attack. What a holder asked for is for everybody. */
  readonly safelist: readonly string[];
}

/** A typed action against one attack: drops what matches all of it. `observe` only marks what would have been dropped. */
export interface Mitigation {
  readonly ref: string;
  readonly mode: 'enforce' | 'observe';
  readonly protocol: RuleProtocol;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly source: string | null;
  /** Sources that the mitigation never touches. */
  readonly safelist: readonly string[];
  /** `later`: only parts of datagrams after the first, which have no ports. */
  readonly fragment: 'any' | 'later';
  /** Only what is above it is dropped; null: everything. */
  readonly limit: MitigationLimit | null;
}

/** Refs of what is done against an attack, filters too: they go with it. */
export const MITIGATION_REF = 'mitigation:';

export interface MitigationLimit {
  /**
   * Packets that are counted together: all to one address, those of one source to one address, or all that this
   * mitigation is for, to whichever address of the attacked prefix.
   */
  readonly per: 'destination' | 'source' | 'attack';
  /** Packets a second, and at once; 0: none pass. */
  readonly pps: number;
  /**
   * Packets of connections that the protected host has answered are neither counted nor dropped. An edge that does
   * not see answers cannot tell, and leaves the mitigation out.
   */
  readonly strangersOnly: boolean;
}

/** Contents of the source sets that policies name, all of one version. CIDRs are canonical, sorted, without overlaps. */
export interface SourceSets {
  readonly version: string;
  readonly sets: Readonly<Record<string, readonly string[]>>;
}

/** A target whose policy the kernel refused. */
export interface RefusedTarget {
  readonly target: string;
  readonly reason: string;
  /** The generation of this target that the kernel still has; 0 when it has none. */
  readonly goodGeneration: number;
}
