import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';

type Counted = ReadonlyMap<string, SubjectSample>;

/** Covers the time by which the detector dates the start of an attack back (1.5 s), and a little more. */
const MAX_SAMPLES = 8;

/** The last buckets by subject: an attack is detected some buckets after its start. */
export class RecentSamples {
  readonly #samples: Sample[] = [];
  /** Built on first use: most buckets are never used. */
  readonly #counted = new WeakMap<Sample, Counted>();

  add(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** The buckets of the last `durationMs`, oldest first. */
  last(durationMs: number): Sample[] {
    let left = durationMs;
    const begin = this.#samples.findLastIndex((sample) => {
      const isBefore = left < sample.durationMs / 2;
      left -= sample.durationMs;
      return isBefore;
    });
    return this.#samples.slice(begin + 1);
  }

  /** Returns null if the subject received nothing. */
  countOf(sample: Sample, subject: string): SubjectSample | null {
    let counted = this.#counted.get(sample);
    if (counted === undefined) {
      const all = [...sample.addresses, ...sample.prefixes];
      counted = new Map(all.map((one) => [one.subject, one]));
      this.#counted.set(sample, counted);
    }
    return counted.get(subject) ?? null;
  }
}
