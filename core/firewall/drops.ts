/** Counters by what dropped and why. */
export interface DropEntry extends DropCause {
  /** The address that the packets were for; a prefix where the source of the counter knows no more. */
  readonly target: string;
  readonly packets: number;
  /** On the wire, from the IP header on. */
  readonly bytes: number;
}

/** One dropped packet. */
export interface DropSample extends DropCause {
  readonly atMs: number;
  /** Whose policy dropped it: the destination, or a prefix around it. */
  readonly target: string;
  readonly source: string;
  readonly destination: string;
  /** IP protocol number. */
  readonly protocol: number;
  /** Null where the packet has none. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** From the IP header on. */
  readonly length: number;
  readonly device: string | null;
}

export interface DropCause {
  readonly stage: DropStage;
  /**
   * What of the stage, as a slug: `denied` of a policy whose rules the data plane has merged, `geo`, `rate`,
   * `unvalidated`, `tcp-syn-proxy:invalid`. New ones may come; whoever shows them shows the slug.
   */
  readonly reason: string;
  readonly by: 'xdp' | 'nftables';
}
/** Of the stage `mitigations`: nothing was dropped, one that only observes would have. */
export const OBSERVED_REASON = 'observed';
/** Stages that drop. `policy`: baseline, geo rules and rules, which a data plane merges into one look-up. */
export const DROP_STAGES = ['fragment-limits', 'mitigations', 'policy', 'filters'] as const;
export type DropStage = (typeof DROP_STAGES)[number];
