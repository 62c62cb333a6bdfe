import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import type { FloodPlan } from '../schedule.ts';

/** The thresholds of every attacked address and prefix. */
export const THRESHOLDS = { pps: 2_000, mbps: 1_000, holdSeconds: 5 } as const;
/** Ports of the attacked host: the game answers datagrams that start with `ASKED`, the web server everything. */
export const GAME = 27_500;
export const WEB = 80;
/** How a datagram starts that the game answers, as hex. */
export const ASKED = '61736b';
export const FLOOD_PPS = 6_000;
export const FLOOD_SECONDS = 6;

/** The clients beside an attack its sources are forged from. */
export type ForgedClients = { readonly clients: 'old' | 'kept'; readonly count: number };

/** One part of an attack, of one kind of packets. Rate and duration are `FLOOD_PPS` and `FLOOD_SECONDS` without. */
export interface AttackVector
  extends Partial<Pick<FloodPlan, 'pps' | 'seconds'>>,
    Pick<
      FloodPlan,
      | 'kind'
      | 'fromPps'
      | 'startSeconds'
      | 'times'
      | 'pauseSeconds'
      | 'ports'
      | 'sourcePort'
      | 'bytes'
      | 'payload'
    > {
  /** The number of forged sources, or the clients that they are forged from; random ones without. */
  readonly sources?: number | ForgedClients;
  /** The number of different packets, which repeat; without, no packet repeats. */
  readonly frames?: number;
  /** Goes to another address of the same prefix than the clients. */
  readonly toSecondAddress?: true;
}

/** Clients of the web server that connect from their own addresses and complete their handshakes. */
export interface Crowd {
  readonly sources: number;
  readonly connectionsPerSecond: number;
  readonly seconds: number;
}

/** An attack as data. */
export interface DrawnAttack {
  readonly name: string;
  readonly vectors: readonly AttackVector[];
  /** `prefix`: spread over an IPv4 /24 or an IPv6 /64; `sites`: over every /64 of an IPv6 /48. */
  readonly over?: 'address' | 'prefix' | 'sites';
  readonly crowd?: Crowd;
  /** Beside the four kinds of clients, one UDP client from before the attack with this rate. */
  readonly busyClientPps?: number;
  /** The type of its record; null: no attack, and no record. */
  readonly type: AttackType | null;
  /** 1 unless said. */
  readonly records?: number;
  /** Absent: both. */
  readonly family?: 4 | 6;
}

/** When a vector has passed a threshold by itself, in seconds after its start; null: never. */
export function exceedsAfterSeconds(vector: AttackVector): number | null {
  const { pps = FLOOD_PPS, fromPps = pps, seconds = FLOOD_SECONDS } = vector;
  if (pps <= THRESHOLDS.pps) return null;
  if (fromPps > THRESHOLDS.pps) return 0;
  return (seconds * (THRESHOLDS.pps - fromPps)) / (pps - fromPps);
}

/** From the start of an attack until its last packet. */
export function secondsOf({ vectors, crowd }: DrawnAttack): number {
  const ends = vectors.map(
    ({ startSeconds = 0, seconds = FLOOD_SECONDS, times = 1, pauseSeconds = 0 }) =>
      startSeconds + seconds * times + pauseSeconds * (times - 1),
  );
  return Math.max(crowd?.seconds ?? 0, ...ends);
}
