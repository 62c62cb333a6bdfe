import {
  MAX_TOPS,
  type SourceProtocol,
  sourceProtocolOf,
  type SubjectTops,
  type TopSource,
} from '@portcullis/core/attacks/top-talkers.ts';
import type { AnsweredSource } from './connections/reader.ts';
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
interface TimedAnswers {
  readonly atMs: number;
  /** Packets by source and protocol. */
  readonly packets: Map<string, number>;
}

/** The most readings of answered sources of a subject: more than `MAX_AGE_MS` has. */
const MAX_ANSWERS = 48;

/** The recent sources and ports of subjects, estimated from samples. Bounded in memory. */
export class TopTalkers {
  readonly #samples = new Map<string, TimedSample[]>();
  /** Answers for subjects: of subjects whose answers are known, oldest first. */
  readonly #answers = new Map<string, TimedAnswers[]>();

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
    dropOldest(this.#samples);
  }

  /**
   * The subject's answered sources of one reading, perhaps none: from now on it is known which of its sources are answered.
   * Packets are estimates.
   */
  addAnswered(
    subject: string,
    sources: readonly (Pick<AnsweredSource, 'source' | 'protocol'> & {
      readonly packets: number;
    })[],
    atMs: number,
  ): void {
    const known = this.#answers.get(subject) ?? [];
    const packets = new Map<string, number>();
    for (const one of sources) add(packets, keyOf(one), one.packets);
    known.push({ atMs, packets });
    if (known.length > MAX_ANSWERS) known.shift();
    this.#answers.delete(subject);
    this.#answers.set(subject, known);
    dropOldest(this.#answers);
  }

  forget(subject: string): void {
    this.#samples.delete(subject);
    this.#answers.delete(subject);
  }

  /** Returns null if there are no recent samples. */
  of(subject: string, nowMs: number): SubjectTops | null {
    const samples = this.#samples.get(subject)?.slice(-DEPTH) ?? [];
    const recent = samples.filter(({ atMs }) => nowMs - atMs <= MAX_AGE_MS);
    if (recent.length === 0) return null;
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
      sources: this.#sourcesOf(subject, recent),
      sourcePorts: ports(({ sourcePort }) => sourcePort),
      destinationPorts: ports(({ destinationPort }) => destinationPort),
    };
  }

  /**
   * Answers count from the time of the first sample on, or what is known of a source would not be of the same
   * packets.
   */
  #sourcesOf(subject: string, recent: readonly TimedSample[]): TopSource[] {
    const sinceMs = recent[0]?.atMs ?? 0;
    const answers = this.#answers.get(subject);
    const isKnown = answers?.some(({ atMs }) => atMs <= sinceMs) === true;
    const answered = new Map<string, number>();
    for (const { atMs, packets } of isKnown ? (answers ?? []) : []) {
      if (atMs < sinceMs) continue;
      for (const [key, count] of packets) add(answered, key, count);
    }
    return largest(recent, keyOf).map(([key, packets]) => {
      const [protocol = 'other', source = ''] = key.split(' ');
      const known = { source, protocol: protocol as SourceProtocol, packets };
      return isKnown ? { ...known, answered: Math.min(packets, answered.get(key) ?? 0) } : known;
    });
  }
}

function keyOf({ protocol, source }: Pick<CounterSample, 'protocol' | 'source'>): string {
  return `${sourceProtocolOf(protocol)} ${source}`;
}

function add(sums: Map<string, number>, key: string, packets: number): void {
  sums.set(key, (sums.get(key) ?? 0) + packets);
}

/** The most recent subjects are the last. */
function dropOldest(subjects: Map<string, unknown>): void {
  for (const oldest of subjects.keys()) {
    if (subjects.size <= MAX_SUBJECTS) break;
    subjects.delete(oldest);
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
