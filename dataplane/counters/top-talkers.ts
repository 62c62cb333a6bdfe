import { MAX_TOPS, type SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { CounterSample } from './driver.ts';
import { portKeyOf, portOfKey } from '@portcullis/core/attacks/port-key.ts';

/** Subjects of which samples are kept; of more, those that had some last. */
const MAX_SUBJECTS = 256;
/** Samples of each, the newest. */
const DEPTH = 256;
const MAX_AGE_MS = 10_000;

interface TimedSample extends CounterSample {
  readonly atMs: number;
}

/** Who sent to whom lately, as far as samples tell. Bounded, whatever is sent. */
export class TopTalkers {
  readonly #samples = new Map<string, TimedSample[]>();

  /** `subjects`: of each sample, its destination and the network around it where that is a subject too. */
  add(sample: CounterSample, subjects: readonly string[], atMs: number): void {
    for (const subject of subjects) {
      const known = this.#samples.get(subject) ?? [];
      known.push({ ...sample, atMs });
      if (known.length > DEPTH * 2) known.splice(0, known.length - DEPTH);
      // The latest stand last.
      this.#samples.delete(subject);
      this.#samples.set(subject, known);
    }
    for (const oldest of this.#samples.keys()) {
      if (this.#samples.size <= MAX_SUBJECTS) break;
      this.#samples.delete(oldest);
    }
  }

  /** Null: nothing was sent lately, or it is not known who sent it. */
  of(subject: string, nowMs: number): SubjectTops | null {
    const samples = this.#samples.get(subject)?.slice(-DEPTH) ?? [];
    const recent = samples.filter(({ atMs }) => nowMs - atMs <= MAX_AGE_MS);
    if (recent.length === 0) return null;
    const sources = largest(recent, ({ source }) => source);
    const ports = (port: (one: TimedSample) => number) =>
      largest(recent, (one) => (port(one) === 0 ? null : portKeyOf(one.protocol, port(one)))).map(
        ([key, packets]) => ({ ...portOfKey(key), packets }),
      );
    return {
      subject,
      sampled: {
        samples: recent.length,
        packets: recent.reduce((sum, { packets }) => sum + packets, 0),
      },
      sources: sources.map(([source, packets]) => ({ source, packets })),
      sourcePorts: ports(({ sourcePort }) => sourcePort),
      destinationPorts: ports(({ destinationPort }) => destinationPort),
    };
  }
}

/** What stands for the most packets; null is none. */
function largest<T>(
  samples: readonly TimedSample[],
  keyOf: (one: TimedSample) => T | null,
): [T, number][] {
  const sums = new Map<T, number>();
  for (const sample of samples) {
    const key = keyOf(sample);
    if (key !== null) sums.set(key, (sums.get(key) ?? 0) + sample.packets);
  }
  return [...sums].toSorted(([, a], [, b]) => b - a).slice(0, MAX_TOPS);
}
