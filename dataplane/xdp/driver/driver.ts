import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { CounterDriver } from '../../counters/driver.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import type { Flow } from '../flows/places.ts';
import type { SlotCount } from '../maps/map-set.ts';
import type { Sample } from '../counting/sample.ts';
import type { UnionTable } from '../compile/unions.ts';

/**
 * The early drop on one host. Calls are short: nothing here waits but `prepare`. Targets that there is no room for, and
 * the prefixes around them, are left to nftables: whatever stood there of them is gone when the call ends. A suite holds
 * every driver to this.
 */
export interface EarlyDropDriver {
  /** Why early drop cannot work on this host; null: it can. */
  probe(): string | null;
  /**
   * Answers as `probe`, and makes what the next `load` needs where that is of the same targets and of the same table:
   * other threads do what takes long. Nothing judges by it yet.
   */
  prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null>;
  /** Gets ready to judge by exactly these. What was there before goes on judging until `enforce`. */
  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void;
  /** Judges by what was loaded; every packet is judged by what was there before, or by this. */
  enforce(): void;
  /** Before the first `load`: programs of an earlier agent judge, and will know what flows are remembered by this one. */
  inherits(): boolean;
  /** Of what is loaded: `set` (which ask no union but those that were loaded) added or replaced, `removed` taken away. One by one, each in one step. */
  change(set: readonly EarlyTarget[], removed: readonly string[]): void;
  /** Of what is loaded, the targets that are left to nftables because there is no room for them. */
  left(): ReadonlyMap<string, EarlyTarget>;
  /** Of those, the ones that there may be room for now: worth a `change`, once the flows to them are remembered. */
  again(): readonly EarlyTarget[];
  configure(settings: EarlySettings): void;
  /** Puts what is loaded on a device, by its index. Again where somebody else took it off. */
  attach(ifindex: number): Attached;
  /** It is there, and nobody took it off. */
  attached(ifindex: number): boolean;
  detach(ifindex: number): void;
  /** Devices it is on, or was when somebody took it off. */
  devices(): number[];
  /** Watches what leaves by these devices and no others, for replies to it. Answers where that cannot be. */
  watch(ifindexes: readonly number[]): number[];
  /** It does, on exactly these. */
  watches(ifindexes: readonly number[]): boolean;
  /** These flows were opened by the protected side: their replies pass on. */
  remember(flows: Iterable<Flow>): void;
  /** All that is loaded of this target stands in the kernel as it was put there; nothing is loaded: it does. */
  holds(target: string): boolean;
  /** What each target has had dropped since the last call; also of targets that were removed, and before a load. */
  counts(): SlotCount[];
  /** Counts what enters by the devices that it is on. Of this driver until it is closed. */
  counters(): CounterDriver;
  /** Of packets dropped since the last call, with the target whose rules dropped it. */
  samples(): (Sample & { readonly target: string })[];
  /** What happens to a frame that enters by a device. For tests and explanations. */
  judge(frame: Buffer, ifindex: number): 'pass' | 'drop';
  /** Everything stays in force, and the next driver takes it over. */
  close(): void;
}

export interface EarlySettings {
  /** The edge sees what the protected side sends, and lets replies in. */
  readonly keepReplies: boolean;
  /** Every flow that was open before is remembered. */
  readonly flowsComplete: boolean;
  /** Remembers also what goes out from open ports and addresses, because they are about to be closed. */
  readonly marksAll: boolean;
  readonly management: readonly ManagementPort[];
  /** VLANs over a device of ours that are judged like it. Tags from the outside in; 0: none. */
  readonly vlans: readonly {
    readonly ifindex: number;
    readonly outer: number;
    readonly inner: number;
  }[];
  /** For how long connection tracking remembers, in seconds. */
  readonly remember: { readonly tcp: number; readonly udp: number; readonly other: number };
}

export type Attached =
  | {
      readonly mode: 'native' | 'generic';
      readonly pinned: boolean;
      /** Why the driver does not take it, as an errno; null: it does. */
      readonly refusal: string | null;
    }
  | { readonly mode: 'none'; readonly reason: string };
