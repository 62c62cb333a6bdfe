import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { CounterMode } from '@portcullis/core/firewall/edge-state.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';

/**
 * Traffic to protected addresses, counted by the kernel before anything is dropped, so that a mitigated flood stays
 * visible. Each packet is counted once, by its vector (`core/attacks/vectors.ts`).
 */
export interface CounterSource {
  /**
   * Protects every address in a scope with `subject`. Keeps the counts of subjects that stay. Rejects if the kernel
   * refuses, and then goes on counting as before.
   */
  watch(scopes: readonly WatchScope[]): Promise<void>;
  /**
   * Counts packets that enter by these devices. With none, nothing is counted. `tracks`: conntrack sees both directions of
   * their connections, which are counted too.
   */
  enter(devices: readonly string[], tracks: boolean): void;
  /**
   * Traffic since the last call, or since counting started. `atMs` becomes the sample's time; its duration is
   * measured by a monotonic clock. Bounded in time and size: beyond capacity, the subjects with the most traffic are
   * returned. One call at a time.
   */
  read(atMs: number): Promise<Sample>;
  /** The sources and ports that recently sent the most to a subject, or null if unknown. */
  tops(subject: string): SubjectTops | null;
  /** The attack on a subject starts again: earlier sources and ports are not its own. */
  forgetTops(subject: string): void;
  /** The backend that counts. */
  mode(): CounterMode;
  /** Why counting is impaired, one sentence each. */
  problems(): readonly string[];
  /** Removes all counters from the kernel. */
  close(): Promise<void>;
}
