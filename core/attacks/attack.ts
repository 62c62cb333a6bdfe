import type { Reflector } from './vectors.ts';

export type AttackType =
  | 'udp_flood'
  | 'tcp_syn_flood'
  | 'tcp_syn_ack_flood'
  | 'tcp_ack_flood'
  | 'tcp_rst_flood'
  | 'icmp_flood'
  | 'gre_flood'
  | 'ip_fragment_flood'
  | `${Reflector}_amplification`
  | 'multi_vector'
  | 'other_flood';

/** A measured rate, and between what it surely lies; equal where every packet was counted. */
export interface Measured {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Part of an attack that is of one kind, 0 to 1. */
export interface Share {
  readonly type: AttackType;
  readonly share: number;
}

/** What the detector knows of one attack. */
export interface Attack {
  /** The same for as long as it is one record, also when it goes on after it seemed to have ended. */
  readonly id: string;
  /** An address, or the prefix that it is spread over. */
  readonly subject: string;
  readonly type: AttackType;
  /** Above 5 %, the largest first. */
  readonly shares: readonly Share[];
  readonly peakPps: Measured;
  readonly peakBps: Measured;
  /** When traffic began to be too much, by the wall clock of the samples. */
  readonly startedAtMs: number;
  /** When it stopped being too much; null while it goes on. */
  readonly endedAtMs: number | null;
}

/**
 * `opened`: a new record. `changed`: its type or a peak. `ended`: quiet for the hold time. `continued`: an ended one
 * goes on, within the time in which that is the same attack.
 */
export interface AttackEvent {
  readonly kind: 'opened' | 'changed' | 'ended' | 'continued';
  readonly attack: Attack;
  /** When the detector knew: wall clock of the sample. */
  readonly atMs: number;
  /** For how long it has been quiet then. */
  readonly quietMs: number;
}

export interface Thresholds {
  readonly pps: number;
  readonly bps: number;
  /** Quiet for so long, an attack has ended. */
  readonly holdMs: number;
}

/** What FastNetMon begins with, and the interface's hold time. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  pps: 20_000,
  bps: 1_000_000_000,
  holdMs: 60_000,
};
