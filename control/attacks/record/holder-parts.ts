import type { Measured } from '@portcullis/core/attacks/attack.ts';
import type { WireAttack } from '@portcullis/link/messages/attacks.ts';

/** A holder of a subject and its time. Null: open. */
export interface Held {
  readonly holdingId: number;
  /** The most specific holding of the subject. */
  readonly length: number;
  readonly fromMs: number;
  readonly untilMs: number | null;
}

/** The part of an attack in one holder's time. */
export interface HolderPart {
  readonly holdingId: number;
  readonly attack: WireAttack;
}

/**
 * Cuts an attack where the holder of its subject changed, oldest first. A record that started before its holding would
 * be visible to nobody. Times without a holder have no part.
 */
export function splitByHolder(
  attack: WireAttack,
  held: readonly Held[],
  nowMs: number,
): HolderPart[] {
  const { startedAtMs, endedAtMs } = attack;
  const last = endedAtMs ?? nowMs;
  const cuts = held
    .flatMap(({ fromMs, untilMs }) => [fromMs, untilMs ?? startedAtMs])
    .filter((ms) => ms > startedAtMs && ms <= last);
  const begins = [...new Set([startedAtMs, ...cuts])].toSorted((a, b) => a - b);
  const parts: { holdingId: number | null; fromMs: number; untilMs: number | null }[] = [];
  for (const [index, fromMs] of begins.entries()) {
    const holdingId = holderAt(held, fromMs);
    const untilMs = begins[index + 1] ?? endedAtMs;
    const before = parts.at(-1);
    if (before?.holdingId === holdingId) before.untilMs = untilMs;
    else parts.push({ holdingId, fromMs, untilMs });
  }
  return parts.flatMap(({ holdingId, fromMs, untilMs }) =>
    holdingId === null ? [] : [{ holdingId, attack: sliced(attack, fromMs, untilMs) }],
  );
}

function holderAt(held: readonly Held[], atMs: number): number | null {
  const holding = held
    .filter(({ fromMs, untilMs }) => fromMs <= atMs && (untilMs === null || atMs < untilMs))
    .toSorted((a, b) => b.length - a.length)[0];
  return holding?.holdingId ?? null;
}

/** The rates and series of one holder's part. */
function sliced(attack: WireAttack, fromMs: number, untilMs: number | null): WireAttack {
  const isWhole = fromMs === attack.startedAtMs && untilMs === attack.endedAtMs;
  if (isWhole) return attack;
  const { openedAtMs, mitigatedAtMs, series } = attack;
  const within = (ms: number): number => Math.min(untilMs ?? Infinity, Math.max(fromMs, ms));
  const isMitigated = mitigatedAtMs !== null && (untilMs === null || mitigatedAtMs < untilMs);
  const isInside = (_: number, index: number): boolean => {
    const atMs = series.startMs + index * series.stepMs;
    return atMs >= fromMs && (untilMs === null || atMs < untilMs);
  };
  const pps = series.pps.filter(isInside);
  const bps = series.bps.filter(isInside);
  const skipped = Math.max(0, Math.ceil((fromMs - series.startMs) / series.stepMs));
  return {
    ...attack,
    startedAtMs: fromMs,
    endedAtMs: untilMs,
    openedAtMs: within(openedAtMs),
    mitigatedAtMs: isMitigated ? within(mitigatedAtMs) : null,
    peakPps: peakWithin(attack.peakPps, pps),
    peakBps: peakWithin(attack.peakBps, bps),
    series: { ...series, startMs: series.startMs + skipped * series.stepMs, pps, bps },
  };
}

/** The series has mean values below the peak; without points the peak is used. */
function peakWithin(peak: Measured, rates: readonly number[]): Measured {
  if (rates.length === 0 || peak.value <= 0) return peak;
  const share = Math.min(1, Math.max(...rates) / peak.value);
  return { value: peak.value * share, low: peak.low * share, high: peak.high * share };
}
