import type { WatchSamples } from '../messages/attacks.ts';
import type { AgentRef } from '../messages/messages.ts';

export type TakeSamples = (from: AgentRef, message: WatchSamples) => void;

/** Passes samples between the replicas of control: to the one that runs the detector. */
export interface SampleRelay {
  /** Resolves with false if no replica takes them. Never rejects. */
  pass(from: AgentRef, message: WatchSamples): Promise<boolean>;
  /** This replica takes the samples of the others from now on; null: it does not any more. */
  serve(take: TakeSamples | null): void;
}
