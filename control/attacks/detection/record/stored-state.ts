import type { StoredAttack } from './plan.ts';
import type { Attack, AttackType, Thresholds } from '@portcullis/core/attacks/attack.ts';
import { type Resumable, resumableOf } from '@portcullis/core/attacks/detector/resume.ts';
import { type AttackSeries, MAX_SERIES_POINTS } from '@portcullis/core/attacks/detector/series.ts';

/** A stored series. The variances are missing if every packet was counted. */
export interface RecordedSeries extends AttackSeries {
  readonly ppsVariance?: readonly number[];
  readonly bpsVariance?: readonly number[];
}

/** The stored detector state of a recorded attack, as far as it is valid. */
export function resumableOfStored(
  kept: StoredAttack,
  subject: string,
  thresholds: Thresholds,
): Resumable {
  const measured = (value: number) => ({ value, low: value, high: value });
  const type = kept.type as AttackType;
  const startedAtMs = kept.startedAt.getTime();
  const recorded: Attack = {
    id: `${subject}@${startedAtMs}`,
    subject,
    type,
    shares: [{ type, share: 1 }],
    peakPps: measured(kept.peakPps),
    peakBps: measured(kept.peakBps),
    startedAtMs,
    endedAtMs: null,
  };
  const known = kept.detector as Partial<Resumable> | null;
  const isWhole =
    known?.attack?.shares !== undefined &&
    known.limits !== undefined &&
    known.ends !== undefined &&
    known.baseline !== undefined;
  if (!isWhole) return resumableOf(recorded, null, thresholds);
  return {
    attack: { ...recorded, ...known.attack, subject, startedAtMs },
    prefix: known.prefix ?? null,
    limits: known.limits,
    ends: known.ends,
    baseline: known.baseline,
    evidence: known.evidence ?? [],
    moves: known.moves === true,
  };
}

/** Null if absent or invalid. */
export function seriesOfStored({ series }: StoredAttack): RecordedSeries | null {
  const { startMs, stepMs, pps, bps, ppsVariance, bpsVariance } = (series ??
    {}) as Partial<RecordedSeries>;
  if (typeof startMs !== 'number' || typeof stepMs !== 'number' || !(stepMs >= 1)) return null;
  if (!isRates(pps) || !isRates(bps) || pps.length !== bps.length) return null;
  const isSampled =
    isRates(ppsVariance) &&
    isRates(bpsVariance) &&
    ppsVariance.length === pps.length &&
    bpsVariance.length === pps.length;
  return { startMs, stepMs, pps, bps, ...(isSampled && { ppsVariance, bpsVariance }) };
}

function isRates(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_SERIES_POINTS &&
    (value as unknown[]).every((one) => typeof one === 'number')
  );
}
