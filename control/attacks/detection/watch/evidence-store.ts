import type { Attack, Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';
import {
  type AttackSeries,
  Series,
  seriesUntil,
} from '@portcullis/core/attacks/detector/series.ts';
import type { Ongoing } from '@portcullis/core/attacks/detector/subject.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { RecordedSeries } from '../record/stored-state.ts';

/** The most attacks with evidence; others have only a record. */
const MAX_ONGOING = 2_000;
/** The most subjects with top sources before an attack. */
const MAX_TOPS_KNOWN = 4_096;

type Limits = Pick<Thresholds, 'pps' | 'bps'>;

interface OngoingEvidence {
  readonly series: Series;
  /** The variances of its packets and bits per second, in the same steps; zero if every packet was counted. */
  readonly variances: Series;
  /** The limits that its traffic exceeded. */
  readonly limits: Limits;
  readonly openedAtMs: number;
  /** It continues the recorded series. */
  readonly isResumed: boolean;
}

const NOTHING = { packets: 0, bytes: 0, packetVariance: 0, byteVariance: 0 };

/** The evidence of ongoing attacks: their traffic over time and their top sources. */
export class EvidenceStore {
  readonly #ongoing = new Map<string, OngoingEvidence>();
  readonly #tops = new Map<string, SubjectTops>();

  noteTops(tops: SubjectTops): void {
    this.#tops.delete(tops.subject);
    this.#tops.set(tops.subject, tops);
    for (const oldest of this.#tops.keys()) {
      if (this.#tops.size <= MAX_TOPS_KNOWN) break;
      if (this.#tops.has(oldest)) this.#tops.delete(oldest);
    }
  }

  /** The attack starts again, perhaps with other sources and ports. */
  forgetTops(subject: string): void {
    this.#tops.delete(subject);
  }

  topsOf(subject: string): SubjectTops | null {
    return this.#tops.get(subject) ?? null;
  }

  begin({ attack, limits }: Pick<Ongoing, 'attack' | 'limits'>, atMs: number): void {
    const { subject } = attack;
    if (this.#ongoing.has(subject) || this.#ongoing.size >= MAX_ONGOING) return;
    this.#ongoing.set(subject, {
      series: new Series(atMs),
      variances: new Series(atMs),
      limits,
      openedAtMs: atMs,
      isResumed: false,
    });
  }

  /** Continues the recorded series; the gap since its end stays empty. Idempotent. */
  resume(
    { attack, limits }: Pick<Ongoing, 'attack' | 'limits'>,
    recorded: RecordedSeries | null,
    openedAtMs: number,
    nowMs: number,
  ): void {
    const { subject } = attack;
    const known = this.#ongoing.get(subject);
    if (known?.isResumed === true) return;
    if (known === undefined && this.#ongoing.size >= MAX_ONGOING) return;
    const series = new Series(nowMs, recorded);
    const variances = new Series(nowMs, recorded && variancesOf(recorded));
    if (recorded !== null) {
      const { startMs, stepMs, pps } = recorded;
      const gapMs = Math.max(0, nowMs - startMs - pps.length * stepMs);
      series.skip(gapMs);
      variances.skip(gapMs);
    }
    this.#ongoing.set(subject, { series, variances, limits, openedAtMs, isResumed: true });
  }

  /** Adds a bucket to every attack's series; zero if the sample does not contain it. */
  add({ addresses, prefixes, durationMs }: Sample): void {
    if (this.#ongoing.size === 0) return;
    const got = new Map<string, SubjectSample>();
    for (const one of [...addresses, ...prefixes]) {
      if (this.#ongoing.has(one.subject)) got.set(one.subject, one);
    }
    for (const [subject, { series, variances }] of this.#ongoing) {
      const { packets, bytes, packetVariance, byteVariance } = got.get(subject) ?? NOTHING;
      series.add(durationMs, packets, bytes * 8);
      variances.add(durationMs, packetVariance, byteVariance * 64);
    }
  }

  end(subject: string): void {
    this.#ongoing.delete(subject);
  }

  openedAtMs(subject: string): number | null {
    return this.#ongoing.get(subject)?.openedAtMs ?? null;
  }

  /** The stored form. */
  evidenceOf(attack: Attack): object {
    return this.snapshotOf(attack)(Infinity);
  }

  /** The stored form of what is known now, of the traffic before a time. The series is copied only when it is read. */
  snapshotOf(attack: Attack): (untilMs: number) => object {
    const known = this.#ongoing.get(attack.subject);
    const { shares, peakPps, peakBps } = attack;
    const all = { shares, peakPps, peakBps, tops: this.topsOf(attack.subject) };
    if (known === undefined) return () => all;
    const { limits } = known;
    const [series, variances] = [known.series.snapshot(), known.variances.snapshot()];
    return (untilMs) => {
      const measured = seriesUntil(series(), untilMs);
      return {
        ...all,
        limits,
        series: recordedSeries(measured, seriesUntil(variances(), untilMs)),
      };
    };
  }
}

function recordedSeries(series: AttackSeries, { pps, bps }: AttackSeries): RecordedSeries {
  if (pps.every((one) => one === 0) && bps.every((one) => one === 0)) return series;
  return { ...series, ppsVariance: pps, bpsVariance: bps };
}

function variancesOf({ ppsVariance, bpsVariance, ...series }: RecordedSeries): AttackSeries {
  const none = series.pps.map(() => 0);
  return { ...series, pps: ppsVariance ?? none, bps: bpsVariance ?? none };
}
