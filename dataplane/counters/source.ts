import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';

/**
 * What the kernel counts of the traffic to protected addresses, before anything is dropped: a flood that is mitigated
 * goes on being counted. Every packet is counted exactly once, by its vector (`core/attacks/vectors.ts`).
 */
export interface CounterSource {
  /**
   * From now on these are protected: every address in a scope with `subject`. What was counted before for those that
   * stay is kept. Rejects where the kernel refuses; it then counts what it counted.
   */
  watch(scopes: readonly WatchScope[]): Promise<void>;
  /** Packets enter by these devices from now on, and are counted there; none: nothing is counted. */
  enter(devices: readonly string[]): void;
  /**
   * What came since the last call, or since counting began; `atMs` becomes the sample's. Its duration is by a clock
   * that does not jump. Bounded in time and size: of more subjects than there is room for, those that get the most.
   * One call at a time.
   */
  read(atMs: number): Promise<Sample>;
  /** Who sent the most to a subject lately, and by which ports; null: nothing is known of it. */
  tops(subject: string): SubjectTops | null;
  /** Which part of the kernel counts. */
  mode(): CounterMode;
  /** What stands in the way of counting as it should be, a sentence each. */
  problems(): readonly string[];
  /** Leaves nothing in the kernel that counts. */
  close(): Promise<void>;
}
