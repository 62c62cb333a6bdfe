import type { Attack, AttackEvidence } from '@portcullis/client/index.ts';
import type { Series } from '../../../components/figures/Chart.tsx';
import { toCsv } from '../../../download.ts';

export type Unit = 'bps' | 'pps';
export type Curve = NonNullable<AttackEvidence['series']>;

/** The unit in which the attack was furthest above its threshold. */
export function unitOf(
  attack: Pick<Attack, 'peak_bps' | 'peak_pps'>,
  threshold: AttackEvidence['threshold'],
): Unit {
  if (threshold === null) return 'bps';
  return attack.peak_pps / threshold.pps > attack.peak_bps / threshold.bps ? 'pps' : 'bps';
}

/** Unix seconds of each mean: the middle of its step. */
export function timesOf({ from, step_ms, pps }: Curve): number[] {
  const first = Date.parse(from) + step_ms / 2;
  return pps.map((_, index) => (first + index * step_ms) / 1000);
}

/** With error bounds where the traffic was sampled. */
export function seriesOf(curve: Curve, unit: Unit): Series {
  const values = curve[unit];
  const errors = unit === 'pps' ? curve.pps_error : curve.bps_error;
  const line = { values, tone: 'accent', as: 'line' } as const;
  if (errors === null) return line;
  const errorAt = (index: number): number => errors[index] ?? 0;
  return {
    ...line,
    low: values.map((value, index) => Math.max(0, value - errorAt(index))),
    high: values.map((value, index) => value + errorAt(index)),
  };
}

export function curveCsv(curve: Curve): string {
  const startMs = Date.parse(curve.from);
  return toCsv(
    ['at', 'pps', 'pps_error', 'bps', 'bps_error'],
    curve.pps.map((pps, index) => [
      new Date(startMs + index * curve.step_ms).toISOString(),
      pps,
      curve.pps_error?.[index] ?? 0,
      curve.bps[index] ?? null,
      curve.bps_error?.[index] ?? 0,
    ]),
  );
}
