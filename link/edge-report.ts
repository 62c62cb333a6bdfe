import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';
import type { CounterMode, EdgeDevice, KernelState } from '@portcullis/core/firewall/edge-state.ts';

/** What an edge says about itself and about what it dropped. Fields are only added (messages.ts). */

/** Every heartbeat. What an agent one version behind does not send reads as its neutral value. */
export interface EdgeReport {
  /** Targets that the kernel judges by a policy of their own: addresses, and prefixes. */
  readonly policies: number;
  /** Entries of every map of the table. */
  readonly elements: number;
  /** Filters on ports that are enforced. */
  readonly filters: number;
  readonly lastError: string | null;
  /** How long the last apply took. */
  readonly lastApplyMs: number | null;
  /** Times since the agent's start that the kernel was found changed by somebody else, and mended. */
  readonly repairs: number;
  /** Since the agent's start, by connection tracking, because rules had come to deny them. */
  readonly forgottenConnections: number;
  /** Whether the kernel has what the agent put there, as of the last look. */
  readonly kernel: KernelState;
  /** What stands in the way of something wished for (XDP, filters, SYN proxy), a sentence each. */
  readonly problems: readonly string[];
  /** The devices that the operator named for this edge, in his order. */
  readonly devices: readonly EdgeDevice[];
  /** Which part of the kernel counts traffic for the detection of attacks. */
  readonly counters: CounterMode;
}

/** Packets dropped between two moments of the edge's clock; each is counted in one report only. */
export interface EdgeDrops {
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Largest first, at most `MAX_DROP_ENTRIES`; the rest follows in the next report. */
  readonly entries: readonly DropEntry[];
  /** At most `MAX_DROP_SAMPLES`; what else was seen is only counted. */
  readonly samples: readonly DropSample[];
}
export const MAX_DROP_ENTRIES = 1_000;
export const MAX_DROP_SAMPLES = 200;
