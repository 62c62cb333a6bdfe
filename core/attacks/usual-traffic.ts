import type { AttackType } from './attack.ts';
import type { AttackSeries } from './detector/series.ts';
import { MAX_TOPS } from './top-talkers.ts';

/**
 * Traffic of reflectors, fragments, and segments without a connection is of no service, so other types are never
 * usual.
 */
const SERVICES: readonly string[] = [
  'udp_flood',
  'tcp_ack_flood',
  'other_flood',
  'multi_vector',
] satisfies AttackType[];

const HOUR_MS = 3_600_000;
const PART_MS = 300_000;
/** No part of the hour differs more from its mean. */
const STEADY = 0.4;
/** All that are reported. */
const LEAST_SOURCES = MAX_TOPS;
/** One source has at most this share of what the top sources send. */
const LARGEST_SHARE = 0.25;
/**
 * The threshold is this multiple of the busiest part: below half of a threshold an attack has ended, and traffic
 * varies.
 */
const TIMES_SEEN = 3;

export interface LastingAttack {
  readonly type: string;
  readonly startedAtMs: number;
  readonly series: AttackSeries | null;
  /** The top sources, with their sampled packets. */
  readonly sources: readonly { readonly packets: number }[];
}

/** Thresholds at which the traffic is no attack: packets, and megabits (10^6), per second. */
export interface UsualTraffic {
  readonly pps: number;
  readonly mbps: number;
}

/**
 * The subject of a question to people: an attack that has lasted an hour with a steady shape, from many sources, none
 * of which sends most. A launch that raises a host for good looks so. Whether the host answers its sources is
 * not measured. Null: it does not look like usual traffic.
 */
export function usualTraffic(attack: LastingAttack, nowMs: number): UsualTraffic | null {
  const { type, startedAtMs, series, sources } = attack;
  if (series === null || nowMs - startedAtMs < HOUR_MS || !SERVICES.includes(type)) return null;
  const sent = sources.reduce((sum, { packets }) => sum + packets, 0);
  const largest = Math.max(0, ...sources.map(({ packets }) => packets));
  if (sources.length < LEAST_SOURCES || largest > sent * LARGEST_SHARE) return null;
  const pps = partsOf(series, series.pps, nowMs);
  const bps = partsOf(series, series.bps, nowMs);
  if (!isSteady(pps) || !isSteady(bps)) return null;
  return {
    pps: roundUp(TIMES_SEEN * Math.max(...pps)),
    mbps: roundUp((TIMES_SEEN * Math.max(...bps)) / 1_000_000),
  };
}

/** The means of each five minutes of the last hour; empty if the hour was not measured whole. */
function partsOf(
  { startMs, stepMs }: AttackSeries,
  rates: readonly number[],
  nowMs: number,
): number[] {
  const parts = Array.from({ length: HOUR_MS / PART_MS }, () => ({ sum: 0, count: 0 }));
  for (const [index, rate] of rates.entries()) {
    const agoMs = nowMs - (startMs + index * stepMs);
    const part = parts[Math.floor(agoMs / PART_MS)];
    if (agoMs < 0 || part === undefined) continue;
    part.sum += rate;
    part.count++;
  }
  // The latest is incomplete, and written some seconds late.
  const whole = parts.slice(1);
  return whole.every(({ count }) => count > 0) ? whole.map(({ sum, count }) => sum / count) : [];
}

function isSteady(parts: readonly number[]): boolean {
  if (parts.length === 0) return false;
  const mean = parts.reduce((sum, part) => sum + part, 0) / parts.length;
  return parts.every((part) => Math.abs(part - mean) <= mean * STEADY);
}

/** To two digits. */
function roundUp(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.max(1, Math.ceil(value / unit) * unit);
}
