import { MAX_TOPS, type SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { CounterSample } from './driver.ts';
import { portKeyOf, portOfKey } from '@portcullis/core/attacks/port-key.ts';

/** Subjects with samples; beyond this, the least recent are dropped. */
const MAX_SUBJECTS = 256;
/** The newest samples of each subject. */
const DEPTH = 256;
const MAX_AGE_MS = 10_000;

interface TimedSample extends CounterSample {
  readonly atMs: number;
}

/** The recent sources and ports of subjects, estimated from samples. Bounded in memory. */
export class TopTalkers {
  readonly #samples = new Map<string, TimedSample[]>();

  /** `subjects`: the sample's destination, and the network that contains it if that is a subject too. */
  add(sample: CounterSample, subjects: readonly string[], atMs: number): void {
    for (const subject of subjects) {
      const known = this.#samples.get(subject) ?? [];
      known.push({ ...sample, atMs });
      if (known.length > DEPTH * 2) known.splice(0, known.length - DEPTH);
      // Keeps the most recent subjects last.
      this.#samples.delete(subject);
      this.#samples.set(subject, known);
    }
    for (const oldest of this.#samples.keys()) {
      if (this.#samples.size <= MAX_SUBJECTS) break;
      this.#samples.delete(oldest);
    }
  }

  /** Returns null if there are no recent samples. */
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

/** Returns the keys with the most packets, ignoring null. */
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
