import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import type { Vector } from '@portcullis/core/attacks/vectors.ts';
import { BYTES, type Stream } from './traffic.ts';

/** The content of what a trace holds, and what a detector should say of it. */
export interface Trace {
  readonly name: string;
  readonly group: string;
  readonly streams: readonly Stream[];
  readonly lengthS: number;
  /** One packet in so many is seen; 1: all. */
  readonly sampling: number;
  /** Packets a second that the server may get by a threshold of its own. */
  readonly hostPps?: number;
  /** Null: nothing is an attack. */
  readonly attack: Expected | null;
}

export interface Expected {
  /** The address, or the prefix that it is spread over. */
  readonly subject: string;
  readonly type: AttackType;
  readonly fromS: number;
  readonly toS: number;
  /** Packets a second of the attack, when it is the strongest. */
  readonly pps: number;
  /** Times its threshold. */
  readonly factor: number;
}

export const THRESHOLDS = { pps: 20_000, bps: 1_000_000_000, holdMs: 10_000 } as const;
export const PREFIXES = { 4: '203.0.113.0/24', 6: '2001:db8::/48' } as const;

export const HOST = { 4: '203.0.113.10', 6: '2001:db8::10' } as const;
type Family = keyof typeof HOST;
export const FROM_S = 60;
const TO_S = 90;
/** Long enough for every attack to end within its hold time. */
export const LENGTH_S = 110;

export const hosts = (count: number, family: Family = 4): string[] =>
  Array.from({ length: count }, (_, index) =>
    family === 4 ? `203.0.113.${index + 20}` : `2001:db8::1:${(index + 1).toString(16)}`,
  );

export const steady = (
  vector: Vector,
  pps: number,
  to: readonly string[],
  bytes = BYTES[vector] ?? 100,
): Stream => ({
  vector,
  bytes,
  to,
  pps,
  fromS: 0,
  toS: LENGTH_S,
});

/** A game server with players and a download beside it, and quieter neighbours. */
export function usual(family: Family = 4): Stream[] {
  const host = [HOST[family]];
  return [
    steady('udp', 2500, host),
    steady('tcp_ack', 400, host),
    steady('tcp_data', 1500, host),
    steady('udp', 3000, hosts(30, family)),
    steady('tcp_data', 2000, hosts(30, family)),
    steady('tcp_syn', 100, hosts(30, family)),
  ];
}

type Burst = Partial<Omit<Stream, 'vector' | 'pps'>>;

export function burst(vector: Vector, pps: number, more: Burst = {}): Stream {
  const bytes = BYTES[vector] ?? 100;
  return { vector, bytes, pps, to: [HOST[4]], fromS: FROM_S, toS: TO_S, ...more };
}

interface Attacked {
  readonly group?: string;
  readonly family?: Family;
  readonly subject?: string;
  readonly sampling?: number;
  readonly hostPps?: number;
}

export function attacked(
  name: string,
  type: AttackType,
  factor: number,
  streams: readonly Stream[],
  more: Attacked = {},
): Trace {
  const { group = 'one vector', family = 4, sampling = 1, subject = HOST[family] } = more;
  const { hostPps = THRESHOLDS.pps } = more;
  return {
    name,
    group,
    lengthS: LENGTH_S,
    sampling,
    hostPps,
    streams: [...usual(family), ...streams],
    attack: {
      subject,
      type,
      fromS: FROM_S,
      toS: TO_S,
      factor,
      pps: streams.reduce((sum, { pps }) => sum + pps, 0),
    },
  };
}

export function legitimate(name: string, streams: readonly Stream[], sampling = 1): Trace {
  return { name, group: 'no attack', lengthS: LENGTH_S, sampling, streams, attack: null };
}

export const CARPET = { group: 'carpet bombing', subject: PREFIXES[4] } as const;
