import type { WatchSamples } from '../messages/attacks.ts';
import type { AgentRef } from '../messages/messages.ts';

/** `site`: of the agent, as the replica knows it that received the message. */
export type TakeSamples = (from: AgentRef, site: string, message: WatchSamples) => void;

/** Requests that a replica counted since it last said so, by caller, with the caller's limit a minute. */
export type Usage = Readonly<Record<string, { readonly requests: number; readonly limit: number }>>;

/** Between the replicas of control. */
export interface ReplicaRelay extends SampleRelay {
  /** To all other replicas. May be lost. */
  publishUsage(usage: Usage): void;
  /** The one listener of what the other replicas counted. */
  onUsage(listener: (usage: Usage) => void): void;
}

/** Passes samples between the replicas of control: to the one that runs the detector. */
export interface SampleRelay {
  /** Resolves with false if no replica takes them. Never rejects. */
  pass(from: AgentRef, site: string, message: WatchSamples): Promise<boolean>;
  /** This replica takes the samples of the others from now on; null: it does not any more. */
  serve(take: TakeSamples | null): void;
}
