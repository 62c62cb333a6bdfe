/** A drop counter by cause. */
export interface DropEntry extends DropCause {
  /** The destination address; a prefix if the counter knows no more. */
  readonly target: string;
  readonly packets: number;
  /** Bytes from the IP header on. */
  readonly bytes: number;
}

/** One dropped packet. */
export interface DropSample extends DropCause {
  readonly atMs: number;
  /** The target whose policy dropped it: the destination or a containing prefix. */
  readonly target: string;
  readonly source: string;
  readonly destination: string;
  /** IP protocol number. */
  readonly protocol: number;
  /** Null if the packet has none. */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** Bytes from the IP header on. */
  readonly length: number;
  readonly device: string | null;
}

export interface DropCause {
  readonly stage: DropStage;
  /**
   * The reason within the stage: `denied` for merged rules of a policy, `geo`, `rate`, `unvalidated`, `tcp-syn-
   * proxy:invalid`. New reasons may be added; unknown ones are shown as they are.
   */
  readonly reason: string;
  readonly by: 'xdp' | 'nftables';
}
/** A reason of the stage `mitigations`: an observing mitigation would have dropped the packet. */
export const OBSERVED_REASON = 'observed';
/**
 * Reasons of what was counted and passed. Of the stage `filters`: packets of new sources (`greeted`), and sources that a
 * reply or a handshake validated (`validated`, whose bytes are those of that packet).
 */
export const PASSED_REASONS = [OBSERVED_REASON, 'greeted', 'validated'] as const;
/** The stages that drop. `policy` covers baseline, geo rules and rules, which a data plane merges into one look-up. */
export const DROP_STAGES = ['fragment-limits', 'mitigations', 'policy', 'filters'] as const;
export type DropStage = (typeof DROP_STAGES)[number];
