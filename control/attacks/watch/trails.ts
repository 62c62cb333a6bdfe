import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { type AttackSeries, Series, seriesUntil } from '@portcullis/core/attacks/series.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';

/** Attacks whose evidence is kept at a time: of more, only the records. */
const MAX_TRAILS = 2_000;
/** Subjects whose top sources are remembered before anything is an attack. */
const MAX_TOPS_KNOWN = 4_096;

interface Trail {
  readonly series: Series;
  readonly openedAtMs: number;
  /** It goes on where what was recorded ended. */
  readonly goesOn: boolean;
}

/** What is kept of ongoing attacks for people: their traffic over time, and who sent most of it. */
export class Trails {
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

  /** Its recorded part comes first: from its end to now nobody looked. Again does nothing. */
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

  /** What every attack got in a bucket; nothing, where the sample does not name it. */
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

  /** As it is kept beside the record. `untilMs`: of what was before then. */
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
