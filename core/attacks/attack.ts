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

/**
 * An attack that a mitigation is planned against. TCP with invalid flags is another flood by its name, and limited as TCP.
 */
export type PresentType = AttackType | 'tcp_other_flood';

/** A measured rate with its error bounds; equal if every packet was counted. */
export interface Measured {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The share of one type in an attack, 0 to 1. */
export interface Share {
  readonly type: AttackType;
  readonly share: number;
}

/** An attack as the detector describes it. */
export interface Attack {
  /** Stays the same for one record, also when an ended attack continues. */
  readonly id: string;
  /** The attacked address or prefix. */
  readonly subject: string;
  readonly type: AttackType;
  /** Shares above 5 %, the largest first. */
  readonly shares: readonly Share[];
  /**
   * The types that exceed a threshold by themselves now, or did within the hold time. If none has yet: those that do
   * together. Absent or empty: not known.
   */
  readonly present?: readonly PresentType[] | undefined;
  readonly peakPps: Measured;
  readonly peakBps: Measured;
  /** When traffic exceeded its limit, by the wall clock of the samples. */
  readonly startedAtMs: number;
  /** When traffic fell below its limit. Null while ongoing. */
  readonly endedAtMs: number | null;
}

/**
 * `opened`: a new record. `changed`: its type or a peak. `ended`: quiet for the hold time. `continued`: an ended attack
 * started again soon enough to be the same one.
 */
export interface AttackEvent {
  readonly kind: 'opened' | 'changed' | 'ended' | 'continued';
  readonly attack: Attack;
  /** When the detector knew, by the wall clock of the sample. */
  readonly atMs: number;
  /** How long it has been quiet at that time. */
  readonly quietMs: number;
  /**
   * The record of an attack that has ended: the subject of the one whose record it is part of now. Null: it keeps its
   * own.
   */
  readonly partOf: string | null;
}

export interface Thresholds {
  readonly pps: number;
  readonly bps: number;
  /** An attack that is quiet for this time has ended. */
  readonly holdMs: number;
}

/** FastNetMon's defaults, and the hold time of the interface. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  pps: 20_000,
  bps: 1_000_000_000,
  holdMs: 60_000,
};
