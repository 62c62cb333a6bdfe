import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { CounterDriver } from '../../counters/driver.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import type { Hook } from '../devices/links.ts';
import type { Flow } from '../flows/mark-keys.ts';
import type { SlotCount } from '../maps/map-set.ts';
import type { Sample } from '../counting/drop-sample.ts';
import type { UnionTable } from '../compile/unions.ts';

/**
 * The early drop on one host. All calls except `prepare` are synchronous and short. Targets beyond capacity, and the
 * prefixes that contain them, are left to nftables: their elements are gone when the call returns. One set of
 * suites covers the kernel's hooks; the fake is a stub.
 */
export interface EarlyDropDriver {
  /** Returns why early drop cannot work on this host, or null if it can. */
  probe(): string | null;
  /**
   * Returns the same as `probe`, and prepares the next `load` if that has the same targets and union table. Slow work
   * runs on other threads. Nothing is in force yet.
   */
  prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null>;
  /** Loads exactly these targets. What was loaded before stays in force until `enforce`. */
  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void;
  /** Puts what was loaded in force. Each packet is evaluated by the old rules or the new ones, never by a mix. */
  enforce(): void;
  /**
   * Whether programs of an earlier agent are in force before the first `load`. They use the flows that this driver
   * remembers.
   */
  hasPredecessor(): boolean;
  /**
   * Adds or replaces `set`, whose unions must be loaded already, and removes `removed`. Each target changes in one
   * step.
   */
  change(set: readonly EarlyTarget[], removed: readonly string[]): void;
  /** The loaded targets that exceed the capacity, so that nftables alone evaluates them. */
  beyondCapacity(): ReadonlyMap<string, EarlyTarget>;
  /** The targets beyond capacity that may fit now. Load them by `change` after their flows are remembered. */
  readmissible(): readonly EarlyTarget[];
  configure(settings: EarlySettings): void;
  /** Attaches the program to a device by its index, also after another program detached it. */
  attach(ifindex: number): Attached;
  /** Whether the program is attached and was not detached by another program. */
  attached(ifindex: number): boolean;
  detach(ifindex: number): void;
  /** Devices that the program is attached to, including those where another program detached it. */
  devices(): number[];
  /**
   * Watches packets that leave by exactly these devices, to recognise replies. Returns the devices where that fails.
   */
  watch(ifindexes: readonly number[]): number[];
  /** Whether exactly these devices are watched. */
  watchesExactly(ifindexes: readonly number[]): boolean;
  /**
   * Forwards answered flows between these devices without the network stack, for some seconds unless called again. Null
   * stops it at once.
   */
  forward(ports: readonly ForwardPort[] | null): void;
  /**
   * Attaches the program that forwards answers to those of these devices that answers enter by, by the first of their
   * hooks that works, and detaches it from all others. It forwards between the ports of `forward` alone.
   */
  forwardAnswers(devices: readonly AnswerDevice[]): void;
  /** The hook of that program by the index of its device. */
  answering(): ReadonlyMap<number, Hook>;
  /** Why answered flows cannot be forwarded, or null. Known after the first `load`. */
  forwardObstacle(): string | null;
  /** The number of packets that were forwarded. */
  forwarded(): number;
  /** Replies to these flows of the protected side pass. */
  remember(flows: Iterable<Flow>): void;
  /** Whether the kernel still holds what was loaded for this target. True if nothing is loaded. */
  isIntact(target: string): boolean;
  /** Drops by target since the last call, including targets that were removed or replaced by a load. */
  counts(): SlotCount[];
  /** Counts packets that enter by the attached devices. Valid until the driver is closed. */
  counters(): CounterDriver;
  /** Samples of packets dropped since the last call, with the target whose rules dropped them. */
  samples(): (Sample & { readonly target: string })[];
  /** Evaluates a frame that enters by a device. For tests and explanations. */
  evaluate(frame: Buffer, ifindex: number): 'pass' | 'drop';
  /** Evaluates a frame that enters by a device. Returns it as it is forwarded without the network stack, or null. For tests. */
  forwardedFrame(frame: Buffer, ifindex: number): Buffer | null;
  /** The same of an answer, at one of the hooks. For tests. */
  forwardedAnswer(frame: Buffer, ifindex: number, hook: Hook): Buffer | null;
  /** Watches a frame that leaves by a device, and entered by another or was sent by this host (0). For tests. */
  leave(frame: Buffer, ifindex: number, entered?: number): void;
  /** Everything stays in force, and the next driver takes it over. */
  close(): void;
}

export interface EarlySettings {
  /** The edge sees outgoing packets, and replies to them pass. */
  readonly keepReplies: boolean;
  /** Every flow that was open before is remembered. */
  readonly flowsComplete: boolean;
  /** Marks also flows that leave open ports and addresses, because these are about to be closed. */
  readonly marksAll: boolean;
  readonly management: readonly ManagementPort[];
  /** Indexes of the named devices that are there. */
  readonly named: readonly number[];
  /** Protected VLANs on attached devices. Tags from the outer to the inner; 0 means none. */
  readonly vlans: readonly {
    readonly ifindex: number;
    readonly outer: number;
    readonly inner: number;
  }[];
  /** The timeouts of connection tracking in seconds. */
  readonly remember: { readonly tcp: number; readonly udp: number; readonly other: number };
}

/** A device of the fast path. */
export interface ForwardPort {
  readonly ifindex: number;
  /** Six bytes. */
  readonly mac: Buffer;
  /** Packets may enter by it. */
  readonly isEntry: boolean;
  /** Packets may leave by it, after XDP. */
  readonly isExit: boolean;
  /** The same after tc. */
  readonly isTcExit: boolean;
  /** Packets that enter may have unfinished checksums. */
  readonly needsChecks: boolean;
}

/** A device that answers of protected hosts enter by. */
export interface AnswerDevice {
  readonly ifindex: number;
  /** In order of preference. */
  readonly hooks: readonly Hook[];
}

export type Attached =
  | {
      readonly mode: Hook;
      readonly pinned: boolean;
      /** Why XDP was refused, as an error code; null if it was not. */
      readonly refusal: string | null;
    }
  | { readonly mode: 'none'; readonly reason: string };
