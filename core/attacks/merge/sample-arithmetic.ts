import { DEFAULT_THRESHOLDS } from '../attack.ts';
import type { Sample, SubjectSample, VectorCount } from '../sample.ts';

/** The number of standard errors for a certain lower bound. */
const SURE_ERRORS = 3;

/** Merges lists by subject; `choose` combines entries of the same subject. */
export function combine(
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
 * Compares certain lower bounds, so that sampling noise does not outweigh an exact count. If neither is above zero,
 * compares estimates.
 */
export function largerSample(a: SubjectSample, b: SubjectSample): SubjectSample {
  const sureA = thresholdShare(a, SURE_ERRORS);
  const sureB = thresholdShare(b, SURE_ERRORS);
  const isA =
    sureA <= 0 && sureB <= 0 ? thresholdShare(a, 0) >= thresholdShare(b, 0) : sureA >= sureB;
  const [more, less] = isA ? [a, b] : [b, a];
  return more.vectors.length > 0 ? more : { ...more, vectors: less.vectors };
}

/** The share of a default threshold in packets or bits, whichever is higher. */
export function thresholdShare(one: SubjectSample, errors: number): number {
  const packets = one.packets - errors * Math.sqrt(one.packetVariance);
  const bytes = one.bytes - errors * Math.sqrt(one.byteVariance);
  return Math.max(packets / DEFAULT_THRESHOLDS.pps, (bytes * 8) / DEFAULT_THRESHOLDS.bps);
}

/** The sum of two counts of different packets. */
export function sum(a: SubjectSample, b: SubjectSample): SubjectSample {
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

/** The same rates over another duration. */
export function scaleTo(sample: Sample, durationMs: number): Sample {
  if (sample.durationMs === durationMs) return sample;
  const factor = durationMs / sample.durationMs;
  const scaled = (one: SubjectSample): SubjectSample => scaleBy(one, factor);
  return {
    atMs: sample.atMs,
    durationMs,
    addresses: sample.addresses.map(scaled),
    prefixes: sample.prefixes.map(scaled),
  };
}

export function scaleBy(one: SubjectSample, factor: number): SubjectSample {
  return {
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
  };
}
