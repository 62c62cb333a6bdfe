import type { FilterType } from '../filters/catalogue.ts';
import type { FilterSettings } from '../filters/settings.ts';

/**
 * The policy of a target (an address or a prefix): immutable and complete. It is read by `decide` (the oracle), the
 * nftables renderer and the XDP compiler. All strings are canonical (RFC 5952, no host bits), so that equal policies
 * are equal JSON.
 */
export interface Policy {
  /** A single address (`203.0.113.10`, no `/32`) or a prefix (`203.0.113.0/24`). */
  readonly target: string;
  /** Stage 5: mitigations in the order of evaluation. */
  readonly mitigations: readonly Mitigation[];
  /** Stage 6: the operator's rules of every prefix that contains the target. */
  readonly baseline: readonly PolicyRule[];
  /** Stage 7: sorted names of source sets (`blocked:NAME`) whose sources are dropped before any allow is read. */
  readonly blocked: readonly string[];
  /** Stage 9: every `deny` is evaluated before every `only`. */
  readonly geo: readonly PolicyGeoRule[];
  /** Stages 8 and 10: the holder's own rules, those of its groups, and ports of running servers, allow before deny. */
  readonly rules: readonly PolicyRule[];
  /** Stage 11: the verdict on a packet that no rule matches. */
  readonly default: DefaultAction;
  /** Stage 12. */
  readonly filters: readonly PolicyFilter[];
}

export type DefaultAction = 'accept' | 'deny';

/** The prefix of names of source sets that are lists of blocked sources. */
export const BLOCKED_SET = 'blocked:';

/** The policy without effect, but for its target. */
export const EMPTY_POLICY = {
  mitigations: [],
  baseline: [],
  blocked: [],
  geo: [],
  rules: [],
  default: 'accept',
  filters: [],
} as const satisfies Omit<Policy, 'target'>;

export type RuleAction = 'allow' | 'deny';
export type RuleProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';

export interface PolicyRule {
  /** The origin, for `explain` and counters: `rule:12`, `group-rule:7`, `server-port:5`, `baseline:3`. */
  readonly ref: string;
  readonly action: RuleAction;
  /** `icmp` means ICMPv6 where the target is IPv6. */
  readonly protocol: RuleProtocol;
  /** Only with tcp and udp; null is any port. */
  readonly port: number | null;
  /** Canonical address or CIDR of the target's family; null is any source. */
  readonly source: string | null;
}

/**
 * A rule for code that must read every field: with a field that `Fields` does not name it is `never`, and that code does
 * not compile until somebody has decided there what the field means (docs/adding-a-rule-field.md).
 */
export type RuleOf<Fields extends keyof PolicyRule> = [Exclude<keyof PolicyRule, Fields>] extends [
  never,
]
  ? PolicyRule
  : never;

export interface PolicyGeoRule {
  readonly ref: string;
  readonly action: 'deny' | 'only';
  /**
   * Sorted names of source sets: `country:DE`, `asn:64496`, `list:NAME`. Their contents are sent separately, with a
   * version.
   */
  readonly sets: readonly string[];
}

export interface PolicyFilter {
  readonly ref: string;
  readonly type: FilterType;
  readonly port: number;
  /** Applied by a service or a mitigation rather than by a caller: neither listed nor counted. */
  readonly managed: boolean;
  /** Sources that a mitigation's filter does not apply to. Filters of callers apply to all sources. */
  readonly safelist: readonly string[];
  /** Absent: none, so that equal policies are equal JSON. */
  readonly settings?: FilterSettings;
}

/** An action against one attack: drops packets that match all conditions. `observe` only counts them. */
export interface Mitigation {
  readonly ref: string;
  readonly mode: 'enforce' | 'observe';
  readonly protocol: RuleProtocol;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly source: string | null;
  /** Sources that the mitigation never drops. */
  readonly safelist: readonly string[];
  /** `later`: only later fragments, which have no ports. */
  readonly fragment: 'any' | 'later';
  /** Drops only packets above the limit. Null drops all. */
  readonly limit: MitigationLimit | null;
}

/** The prefix of refs of mitigations, also of their filters. */
export const MITIGATION_REF = 'mitigation:';

export interface MitigationLimit {
  /**
   * The packets that share a limit: all to one address, those of one source to one address, or all of the mitigation,
   * to any address of the attacked prefix.
   */
  readonly per: 'destination' | 'source' | 'attack';
  /** Packets per second, and the burst; 0: none pass. */
  readonly pps: number;
  /** The limit is of packets that the protected host has not answered; an edge that sees no replies knows none. */
  readonly unansweredOnly: boolean;
  /**
   * With `unansweredOnly`: packets per second of one flow that the protected host has answered. A flow has the ports of
   * its packets, if there are any. An edge that sees no replies limits each source to it. Absent: unlimited.
   */
  readonly answeredPps?: number;
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
  /** The generation of this target that the kernel still has; 0 if none. */
  readonly goodGeneration: number;
}
