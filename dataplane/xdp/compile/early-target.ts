import type { Signature } from '@portcullis/core/filters/filter.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/** In the order of the counters of a slot. */
export const REASONS = ['rules', 'baseline', 'geo', 'blocked', 'mitigations', 'greetings'] as const;
export type Reason = (typeof REASONS)[number];

/**
 * The part of a policy that can be decided by a single packet and the flows that the port has answered: some
 * mitigations, rules, and what filters ask of unvalidated sources. It never drops more than the policy: mitigations and
 * filters only drop, so omitting some drops less.
 */
export interface EarlyTarget {
  readonly target: string;
  readonly cidr: Cidr;
  readonly rules: CompiledRules;
  /** The look-ups that replace a list of too many rules. */
  readonly spilled: readonly Spilled[];
  /** The unions of source sets that the rules use, by name. */
  readonly unions: ReadonlyMap<string, readonly string[]>;
  /** Drops of mitigations, which are evaluated before the rules. */
  readonly statelessDrops: readonly StatelessDrop[];
  /** Filtered ports, which are evaluated after the rules. */
  readonly greetedPorts: readonly GreetedPort[];
  /** The rules are the whole policy for UDP: nftables accepts what they pass, unless it is fragmented. */
  readonly isExact: boolean;
}

/** A UDP port that drops what an unvalidated source sends, unless it fits one of these. */
export interface GreetedPort {
  readonly port: number;
  readonly greetings: Greetings;
}

/** One object for all ports with the same filters. */
export interface Greetings {
  readonly signatures: readonly Signature[];
  /** `struct greetings` of layout.h. */
  readonly encoded: Buffer;
}

/** The first match decides. If nothing matches, `fallback` is the reason of the drop, or null to pass. */
export type CompiledRules =
  | {
      readonly kind: 'listed';
      readonly rules: readonly EarlyRule[];
      /** The number of rules without a port. They come first; a packet whose port no rule names skips the others. */
      readonly portless: number;
      readonly fallback: Reason | null;
    }
  | { readonly kind: 'spilled'; readonly forms: readonly Form[]; readonly fallback: Reason | null };

export interface EarlyRule {
  /** `pass` leaves the packet to nftables. Otherwise the stage that drops. */
  readonly verdict: 'pass' | Reason;
  readonly protocol: number | null;
  readonly port: number | null;
  readonly source: Cidr | null;
  /** The source is inside or outside a union of source sets. Such a rule has no other condition. */
  readonly sets: { readonly name: string; readonly inside: boolean } | null;
}

/** A kind of look-up: the masks of the packet's key and of its source. Null ignores the source. */
export interface Form {
  readonly mask: number;
  readonly sourceMask: Buffer | null;
}
export interface Spilled {
  /** Index into the forms of its target. */
  readonly form: number;
  readonly match: number;
  /** In network order, masked. */
  readonly source: Buffer | null;
  readonly verdict: EarlyRule['verdict'];
}

/**
 * Packets that a mitigation drops by a single packet: UDP from a source port except from safe networks, or a protocol from
 * one address, perhaps only what the target has not answered. nftables alone handles rates, unknown sources, fragments,
 * TCP connections, and too many safe networks.
 */
export type StatelessDrop =
  | { readonly kind: 'port'; readonly sourcePort: number; readonly safe: readonly Cidr[] }
  | {
      readonly kind: 'source';
      readonly protocol: number;
      readonly source: Cidr;
      readonly unansweredOnly: boolean;
    };
