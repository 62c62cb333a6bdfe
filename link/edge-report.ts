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

/** `none`: nothing is counted, so no attack is detected here. */
export const COUNTER_MODES = ['xdp', 'nftables', 'none'] as const;
export type CounterMode = (typeof COUNTER_MODES)[number];

/** `unknown`: the agent cannot look. `disturbed`: somebody else changed it, and it is not mended yet. */
export const KERNEL_STATES = ['undisturbed', 'disturbed', 'unknown'] as const;
export type KernelState = (typeof KERNEL_STATES)[number];

export interface EdgeDevice {
  readonly name: string;
  readonly kind: DeviceKind;
  readonly present: boolean;
  /** How the early drop is attached. */
  readonly xdp: XdpMode;
  /** Why not `native`, or what is wrong with the device; null: nothing to say. */
  readonly reason: string | null;
  /** The bridge or bond that it is a port of: nothing enters by it then, but by its master. */
  readonly master: string | null;
}
export const DEVICE_KINDS = ['physical', 'vlan', 'bridge', 'bond', 'veth', 'other'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];
export const XDP_MODES = ['native', 'generic', 'none'] as const;
export type XdpMode = (typeof XDP_MODES)[number];

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
