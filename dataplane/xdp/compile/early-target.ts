import type { Cidr } from '@portcullis/core/net/cidr.ts';

/** In the order of the counters of a slot. */
export const REASONS = ['rules', 'baseline', 'geo', 'mitigations'] as const;
export type Reason = (typeof REASONS)[number];

/**
 * What one target has dropped early: the mitigations and rules of its policy that one packet alone decides. Never
 * more than the policy drops: mitigations only drop, so leaving others to nftables drops less, and filters judge
 * what passes here.
 */
export interface EarlyTarget {
  readonly target: string;
  readonly cidr: Cidr;
  readonly rules: CompiledRules;
  /** Look-ups of a list too long to be read. */
  readonly spilled: readonly Spilled[];
  /** Unions of source sets that the rules ask, by name. */
  readonly unions: ReadonlyMap<string, readonly string[]>;
  /** What mitigations drop, whatever the rules say. */
  readonly statelessDrops: readonly StatelessDrop[];
}

/** The first match decides; nothing matched: `fallback` is why it is dropped, null that it passes on. */
export type CompiledRules =
  | {
      readonly kind: 'listed';
      readonly rules: readonly EarlyRule[];
      /** So many of the first name no port; the others are skipped together by a packet of another port. */
      readonly portless: number;
      readonly fallback: Reason | null;
    }
  | { readonly kind: 'spilled'; readonly forms: readonly Form[]; readonly fallback: Reason | null };

export interface EarlyRule {
  /** `pass`: nftables judges. Otherwise the stage that drops. */
  readonly verdict: 'pass' | Reason;
  readonly protocol: number | null;
  readonly port: number | null;
  readonly source: Cidr | null;
  /** In (or outside) a union of source sets; then it has no other condition. */
  readonly sets: { readonly name: string; readonly inside: boolean } | null;
}

/** A way to look a packet up: by so much of its key, and of its source (null: whatever it is). */
export interface Form {
  readonly mask: number;
  readonly sourceMask: Buffer | null;
}
export interface Spilled {
  /** Index into the forms of its target. */
  readonly form: number;
  readonly match: number;
  /** Network order, masked. */
  readonly source: Buffer | null;
  readonly verdict: EarlyRule['verdict'];
}

/**
 * What a mitigation drops by one packet alone: UDP from a port, whoever sends it but some, or a protocol from one
 * address. Rates, strangers and parts of datagrams are known to nftables only, and so is what spares too many.
 */
export type StatelessDrop =
  | { readonly kind: 'port'; readonly sourcePort: number; readonly safe: readonly Cidr[] }
  | { readonly kind: 'source'; readonly protocol: number; readonly source: Cidr };
