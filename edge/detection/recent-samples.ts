import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';

type Counted = ReadonlyMap<string, SubjectSample>;

/** As far back as a detector that looks at a second and a half dates the beginning of an attack, and a little more. */
const MAX_SAMPLES = 8;

/** The last buckets, by subject: an attack is known some buckets after it began. */
export class RecentSamples {
  readonly #samples: Sample[] = [];
  /** Made when it is first asked for: most buckets are never. */
  readonly #counted = new WeakMap<Sample, Counted>();

  add(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** Buckets of the last `durationMs`, oldest first. */
  last(durationMs: number): Sample[] {
    let left = durationMs;
    const begin = this.#samples.findLastIndex((sample) => {
      const isBefore = left < sample.durationMs / 2;
      left -= sample.durationMs;
      return isBefore;
    });
    return this.#samples.slice(begin + 1);
  }

  /** Null: the subject got nothing. */
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
