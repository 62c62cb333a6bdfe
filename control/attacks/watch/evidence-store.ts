import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import {
  type AttackSeries,
  Series,
  seriesUntil,
} from '@portcullis/core/attacks/detector/series.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';

/** The most attacks with evidence; others have only a record. */
const MAX_TRAILS = 2_000;
/** The most subjects with top sources before an attack. */
const MAX_TOPS_KNOWN = 4_096;

interface Trail {
  readonly series: Series;
  readonly openedAtMs: number;
  /** It continues the recorded series. */
  readonly goesOn: boolean;
}

/** The evidence of ongoing attacks: their traffic over time and their top sources. */
export class EvidenceStore {
  readonly #trails = new Map<string, Trail>();
  readonly #tops = new Map<string, SubjectTops>();

  noteTops(tops: SubjectTops): void {
    this.#tops.delete(tops.subject);
    this.#tops.set(tops.subject, tops);
    for (const oldest of this.#tops.keys()) {
      if (this.#tops.size <= MAX_TOPS_KNOWN) break;
      if (this.#tops.has(oldest)) this.#tops.delete(oldest);
    }
  }

  topsOf(subject: string): SubjectTops | null {
    return this.#tops.get(subject) ?? null;
  }

  begin(attack: Attack, atMs: number): void {
    if (this.#trails.has(attack.subject) || this.#trails.size >= MAX_TRAILS) return;
    this.#trails.set(attack.subject, { series: new Series(atMs), openedAtMs: atMs, goesOn: false });
  }

  /** Continues the recorded series; the gap since its end stays empty. Idempotent. */
  goOn(attack: Attack, recorded: AttackSeries | null, openedAtMs: number, nowMs: number): void {
    const { subject } = attack;
    const trail = this.#trails.get(subject);
    if (trail?.goesOn === true) return;
    if (trail === undefined && this.#trails.size >= MAX_TRAILS) return;
    const series = new Series(nowMs, recorded);
    if (recorded !== null) {
      const { startMs, stepMs, pps } = recorded;
      series.skip(Math.max(0, nowMs - startMs - pps.length * stepMs));
    }
    this.#trails.set(subject, { series, openedAtMs, goesOn: true });
  }

  /** Adds a bucket to every attack's series; zero if the sample does not contain it. */
  add({ addresses, prefixes, durationMs }: Sample): void {
    if (this.#trails.size === 0) return;
    const got = new Map<string, { readonly packets: number; readonly bytes: number }>();
    for (const one of [...addresses, ...prefixes]) {
      if (this.#trails.has(one.subject)) got.set(one.subject, one);
    }
    for (const [subject, { series }] of this.#trails) {
      const { packets = 0, bytes = 0 } = got.get(subject) ?? {};
      series.add(durationMs, packets, bytes * 8);
    }
  }

  end(subject: string): void {
    this.#trails.delete(subject);
  }

  openedAtMs(subject: string): number | null {
    return this.#trails.get(subject)?.openedAtMs ?? null;
  }

  /** The stored form. `untilMs` limits it to earlier traffic. */
  evidenceOf(attack: Attack, untilMs = Infinity): object {
    const trail = this.#trails.get(attack.subject);
    return {
      shares: attack.shares,
      peakPps: attack.peakPps,
      peakBps: attack.peakBps,
      tops: this.topsOf(attack.subject),
      ...(trail !== undefined && { series: seriesUntil(trail.series.value, untilMs) }),
    };
  }
}
