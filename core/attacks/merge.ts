import { DEFAULT_THRESHOLDS } from './attack.ts';
import { BUCKET_MS, type Sample, type SubjectSample, type VectorCount } from './sample.ts';

/** A bucket of somebody who counts. Those of one site see the same packets. */
export interface Slot {
  readonly site: string;
  readonly sample: Sample;
}

/** Who counts, and what of it was not taken yet. */
export interface Counter {
  readonly site: string;
  /** By a clock that does not jump. */
  readonly heardMs: number;
  /** Oldest first, each about a bucket long. */
  readonly waiting: readonly Sample[];
  /** Buckets that were taken without this one, while it was late. */
  readonly missed: number;
}

export type Counters = ReadonlyMap<string, Counter>;

/** Buckets of one counter that are kept; of more, the latest. */
const MAX_WAITING = 8;
/** So many of one wait for another's, then it is done without: two more than what is the same moment's. */
const PATIENCE = 3;
/** Who was not heard for this long is not waited for. */
const AWAY_MS = 1_500;
/** Standard errors: what was surely there. */
const SURE_ERRORS = 3;

/** What a counter told, behind what it told before. */
export function accept(
  counters: Counters,
  name: string,
  site: string,
  samples: readonly Sample[],
  nowMs: number,
): Counters {
  const before = counters.get(name);
  const fresh = samples.flatMap(inBuckets);
  // Those that were done without are over; the latest is of now.
  const late = Math.min(before?.missed ?? 0, Math.max(0, fresh.length - 1));
  const waiting = [...(before?.waiting ?? []), ...fresh.slice(late)].slice(-MAX_WAITING);
  return new Map(counters).set(name, { site, heardMs: nowMs, waiting, missed: 0 });
}

/** A bucket that was read late is of several times, evenly; of a very long one the end counts. */
function inBuckets(sample: Sample): Sample[] {
  const parts = Math.max(1, Math.round(sample.durationMs / BUCKET_MS));
  if (parts === 1) return [sample];
  const durationMs = sample.durationMs / parts;
  const kept = Math.min(parts, MAX_WAITING);
  return Array.from({ length: kept }, (_, index) => ({
    ...scaleTo(sample, durationMs),
    atMs: sample.atMs - (kept - 1 - index) * durationMs,
  }));
}

/**
 * The next bucket of everybody, when everybody who is there has told his, or has been waited for long enough. Null: not
 * yet. One who counts alone is never waited for, and is passed on as he counted.
 */
export function take(
  counters: Counters,
  nowMs: number,
): { readonly counters: Counters; readonly sample: Sample } | null {
  const ready = [...counters].filter(([, { waiting }]) => waiting.length > 0);
  const isLate = ([, { waiting, heardMs }]: [string, Counter]): boolean =>
    waiting.length === 0 && nowMs - heardMs <= AWAY_MS;
  const late = [...counters].filter(isLate);
  const most = Math.max(0, ...ready.map(([, { waiting }]) => waiting.length));
  if (ready.length === 0 || (late.length > 0 && most < PATIENCE)) return null;
  const next = new Map(counters);
  const slots: Slot[] = [];
  for (const [name, counter] of ready) {
    const { waiting, site } = counter;
    // Whose clock runs faster has more and more: two are taken for one.
    const count = ready.length > 1 && waiting.length >= PATIENCE ? 2 : 1;
    slots.push({ site, sample: joined(waiting.slice(0, count)) });
    next.set(name, { ...counter, waiting: waiting.slice(count) });
  }
  for (const [name, counter] of late) next.set(name, { ...counter, missed: counter.missed + 1 });
  return { counters: next, sample: merge(slots) };
}

/** Who was not heard for so long is forgotten. */
export function forget(counters: Counters, nowMs: number, awayMs: number): Counters {
  return new Map([...counters].filter(([, { heardMs }]) => nowMs - heardMs <= awayMs));
}

/**
 * The same packets seen twice count once: the most within a site. Sites see different ones: their sum.
 */
export function merge(slots: readonly Slot[]): Sample {
  const durationMs = Math.max(...slots.map(({ sample }) => sample.durationMs));
  const atMs = Math.max(...slots.map(({ sample }) => sample.atMs));
  const [only] = slots;
  if (slots.length === 1 && only !== undefined) return only.sample;
  const sites = Map.groupBy(slots, ({ site }) => site);
  const parts = [...sites.values()].map((same) =>
    same.map(({ sample }) => scaleTo(sample, durationMs)),
  );
  const all = (of: (sample: Sample) => readonly SubjectSample[]): SubjectSample[] => {
    const total = new Map<string, SubjectSample>();
    for (const same of parts) {
      for (const one of combine(same.map(of), stronger).values()) {
        const before = total.get(one.subject);
        total.set(one.subject, before === undefined ? one : sum(before, one));
      }
    }
    return [...total.values()];
  };
  return {
    atMs,
    durationMs,
    addresses: all(({ addresses }) => addresses),
    prefixes: all(({ prefixes }) => prefixes),
  };
}

function combine(
  lists: readonly (readonly SubjectSample[])[],
  choose: (a: SubjectSample, b: SubjectSample) => SubjectSample,
): Map<string, SubjectSample> {
  const found = new Map<string, SubjectSample>();
  for (const one of lists.flat()) {
    const before = found.get(one.subject);
    found.set(one.subject, before === undefined ? one : choose(before, one));
  }
  return found;
}

/**
 * By what was surely there, so that chance in one's samples does not outweigh another's exact count. Where neither is
 * sure of anything, by what they estimate.
 */
function stronger(a: SubjectSample, b: SubjectSample): SubjectSample {
  const sureA = weigh(a, SURE_ERRORS);
  const sureB = weigh(b, SURE_ERRORS);
  const isA = sureA <= 0 && sureB <= 0 ? weigh(a, 0) >= weigh(b, 0) : sureA >= sureB;
  const [more, less] = isA ? [a, b] : [b, a];
  return more.vectors.length > 0 ? more : { ...more, vectors: less.vectors };
}

/** How much of a usual threshold: packets and bytes by what they do. */
function weigh(one: SubjectSample, errors: number): number {
  const packets = one.packets - errors * Math.sqrt(one.packetVariance);
  const bytes = one.bytes - errors * Math.sqrt(one.byteVariance);
  return Math.max(packets / DEFAULT_THRESHOLDS.pps, (bytes * 8) / DEFAULT_THRESHOLDS.bps);
}

function sum(a: SubjectSample, b: SubjectSample): SubjectSample {
  return {
    subject: a.subject,
    prefix: a.prefix ?? b.prefix,
    packets: a.packets + b.packets,
    bytes: a.bytes + b.bytes,
    dataPackets: a.dataPackets + b.dataPackets,
    dataBytes: a.dataBytes + b.dataBytes,
    receiptPackets: a.receiptPackets + b.receiptPackets,
    packetVariance: a.packetVariance + b.packetVariance,
    byteVariance: a.byteVariance + b.byteVariance,
    vectors: sumVectors(a.vectors, b.vectors),
  };
}

function sumVectors(a: readonly VectorCount[], b: readonly VectorCount[]): VectorCount[] {
  const total = new Map<number, VectorCount>();
  for (const one of [...a, ...b]) {
    const before = total.get(one.vector);
    total.set(one.vector, {
      vector: one.vector,
      packets: one.packets + (before?.packets ?? 0),
      bytes: one.bytes + (before?.bytes ?? 0),
    });
  }
  return [...total.values()];
}

/** Two buckets, one after the other, as one of the length of the longer. */
function joined(samples: readonly Sample[]): Sample {
  const [first, second] = samples;
  if (first === undefined) throw new Error('a counter that is ready has a bucket');
  if (second === undefined) return first;
  const both = (a: readonly SubjectSample[], b: readonly SubjectSample[]): SubjectSample[] => [
    ...combine([a, b], sum).values(),
  ];
  const whole: Sample = {
    atMs: second.atMs,
    durationMs: first.durationMs + second.durationMs,
    addresses: both(first.addresses, second.addresses),
    prefixes: both(first.prefixes, second.prefixes),
  };
  return scaleTo(whole, Math.max(first.durationMs, second.durationMs));
}

/** At the same rates, for another time. */
function scaleTo(sample: Sample, durationMs: number): Sample {
  if (sample.durationMs === durationMs) return sample;
  const factor = durationMs / sample.durationMs;
  const scaled = (one: SubjectSample): SubjectSample => ({
    subject: one.subject,
    prefix: one.prefix,
    packets: one.packets * factor,
    bytes: one.bytes * factor,
    dataPackets: one.dataPackets * factor,
    dataBytes: one.dataBytes * factor,
    receiptPackets: one.receiptPackets * factor,
    packetVariance: one.packetVariance * factor * factor,
    byteVariance: one.byteVariance * factor * factor,
    vectors: one.vectors.map(({ vector, packets, bytes }) => ({
      vector,
      packets: packets * factor,
      bytes: bytes * factor,
    })),
  });
  return {
    atMs: sample.atMs,
    durationMs,
    addresses: sample.addresses.map(scaled),
    prefixes: sample.prefixes.map(scaled),
  };
}
