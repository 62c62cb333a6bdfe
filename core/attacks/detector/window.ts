import type { Measured } from '../attack.ts';
import type { Traffic } from '../sample.ts';

/**
 * The recent traffic of a subject: the last buckets, and a longer past with decay. The short past detects a flood
 * quickly; the long past separates it from chance when few packets are sampled.
 */
export interface Window {
  /** Newest last; at most `DEPTH`. */
  readonly buckets: readonly Bucket[];
  readonly faded: Amounts & { readonly durationMs: number };
}

/** Packets and bits: those that count against a threshold (`load`), and all. */
export interface Amounts {
  readonly loadPackets: number;
  readonly loadBits: number;
  readonly packets: number;
  readonly bits: number;
  readonly packetVariance: number;
  readonly bitVariance: number;
}

export interface Bucket extends Amounts {
  readonly durationMs: number;
}

/** Evaluated over 6 buckets of 250 ms: twice a threshold is detected after 0.75 s, 1.2 times after 1.25 s. */
export const DEPTH = 6;
export const SHORT_MS = 1500;
/** Each of this many buckets must contain its share of an ongoing flood. */
const STEADY_BUCKETS = 3;
const STEADY_SHARE = 0.5;
/** The time constant of the long past. */
const FADE_MS = 8000;
/** The buckets of a peak: one second. */
const PEAK_DEPTH = 4;
/** Standard errors beyond chance, for the many evaluations of a short window and the fewer of a long one. */
const SHORT_ERRORS = 3;
const FADED_ERRORS = 2.5;
/** The standard errors for an ongoing attack are lower than for a new one. */
const LEAST_ERRORS = 2;
/** Half the width of a peak's bounds in standard errors. A peak is the largest of many, so 1.96 is not enough. */
const PEAK_ERRORS = 4;
/** A second deviates by this many standard errors from the long past in none of thousands by chance. */
const SURE_ERRORS = 5;

const NOTHING: Amounts = {
  loadPackets: 0,
  loadBits: 0,
  packets: 0,
  bits: 0,
  packetVariance: 0,
  bitVariance: 0,
};

export const EMPTY: Window = { buckets: [], faded: { ...NOTHING, durationMs: 0 } };

/**
 * Downloads of a host are TCP data packets and acknowledgements of its uploads; their packet count is no flood. In a
 * prefix, where several downloads at a time are usual, a tenth of their bytes counts.
 */
export function bucketOf(traffic: Traffic | null, durationMs: number, isPrefix: boolean): Bucket {
  if (traffic === null) return { ...NOTHING, durationMs };
  const { packets, bytes, dataPackets, dataBytes, receiptPackets } = traffic;
  return {
    durationMs,
    loadPackets: Math.max(0, packets - dataPackets - receiptPackets),
    loadBits: 8 * (isPrefix ? bytes - 0.9 * dataBytes : bytes),
    packets,
    bits: 8 * bytes,
    packetVariance: traffic.packetVariance,
    bitVariance: 64 * traffic.byteVariance,
  };
}

export function push({ buckets, faded }: Window, bucket: Bucket): Window {
  const kept = Math.exp(-bucket.durationMs / FADE_MS);
  // Variances decay by the square of the factor.
  const squared = kept * kept;
  return {
    buckets: [...buckets.slice(buckets.length >= DEPTH ? 1 : 0), bucket],
    faded: {
      durationMs: faded.durationMs * kept + bucket.durationMs,
      loadPackets: faded.loadPackets * kept + bucket.loadPackets,
      loadBits: faded.loadBits * kept + bucket.loadBits,
      packets: faded.packets * kept + bucket.packets,
      bits: faded.bits * kept + bucket.bits,
      packetVariance: faded.packetVariance * squared + bucket.packetVariance,
      bitVariance: faded.bitVariance * squared + bucket.bitVariance,
    },
  };
}

/** Subtracts traffic of other subjects: attacks on single addresses from their prefix. */
export function subtract(window: Window, others: readonly Window[]): Window {
  if (others.length === 0) return window;
  const { length } = window.buckets;
  const buckets = window.buckets.map((bucket, index) => {
    const same = others.flatMap((other) => other.buckets.at(index - length) ?? []);
    return less(bucket, sum(same));
  });
  const faded = less(window.faded, sum(others.map((other) => other.faded)));
  return { buckets, faded };
}

function less<T extends Amounts>(from: T, other: Amounts): T {
  return {
    ...from,
    loadPackets: Math.max(0, from.loadPackets - other.loadPackets),
    loadBits: Math.max(0, from.loadBits - other.loadBits),
    packets: Math.max(0, from.packets - other.packets),
    bits: Math.max(0, from.bits - other.bits),
  };
}

/** Per second: a certain lower bound and the estimate of the short past. */
export interface Rates {
  readonly surePps: number;
  readonly sureBps: number;
  readonly pps: number;
  readonly bps: number;
  /** Like `pps` and `bps`, minus the possible sampling error. */
  readonly leastPps: number;
  readonly leastBps: number;
}

export function ratesOf({ buckets, faded }: Window): Rates {
  const short = sum(buckets);
  const shortS = Math.max(short.durationMs, SHORT_MS) / 1000;
  const fadedS = Math.max(faded.durationMs, SHORT_MS) / 1000;
  const sure = (amount: number, variance: number, errors: number, seconds: number): number =>
    (amount - errors * Math.sqrt(variance)) / seconds;
  return {
    pps: short.loadPackets / shortS,
    bps: short.loadBits / shortS,
    leastPps: sure(short.loadPackets, short.packetVariance, LEAST_ERRORS, shortS),
    leastBps: sure(short.loadBits, short.bitVariance, LEAST_ERRORS, shortS),
    surePps: Math.max(
      sure(short.loadPackets, short.packetVariance, SHORT_ERRORS, shortS),
      sure(faded.loadPackets, faded.packetVariance, FADED_ERRORS, fadedS),
    ),
    sureBps: Math.max(
      sure(short.loadBits, short.bitVariance, SHORT_ERRORS, shortS),
      sure(faded.loadBits, faded.bitVariance, FADED_ERRORS, fadedS),
    ),
  };
}

/**
 * Whether the latest bucket has a part of the excess. Only later buckets tell that the first packets of a crowd belong to
 * connections that are served.
 */
export function isStillThere(
  { buckets }: Window,
  { pps, bps }: Pick<Rates, 'pps' | 'bps'>,
): boolean {
  const latest = buckets.at(-1);
  if (latest === undefined) return false;
  // Exports know no connections, and their buckets differ by chance.
  if (latest.packetVariance > 0) return true;
  const part = STEADY_SHARE * (latest.durationMs / 1000);
  return latest.loadPackets >= pps * part || latest.loadBits >= bps * part;
}

/** Whether each of the latest buckets contributes to the excess, rather than one of them alone. */
export function isSustained(
  { buckets }: Window,
  { pps, bps }: Pick<Rates, 'pps' | 'bps'>,
): boolean {
  const latest = buckets.slice(-STEADY_BUCKETS);
  return (
    latest.length === STEADY_BUCKETS &&
    latest.every(({ loadPackets, loadBits, durationMs }) => {
      const part = STEADY_SHARE * (durationMs / 1000);
      return loadPackets >= pps * part || loadBits >= bps * part;
    })
  );
}

/** Restarts the long past with the latest `count` buckets, so that it covers the attack only. */
export function restart({ buckets }: Window, count: number): Window {
  const latest = buckets.slice(-Math.max(1, count));
  return { buckets, faded: sum(latest) };
}

/** The latest buckets within the duration, at least one. */
export function latest({ buckets }: Window, forMs: number): Window {
  let count = 0;
  let durationMs = 0;
  for (const bucket of buckets.toReversed()) {
    durationMs += bucket.durationMs;
    if (count > 0 && durationMs > forMs) break;
    count++;
  }
  const kept = buckets.slice(-Math.max(1, count));
  return { buckets: kept, faded: sum(kept) };
}

/** The traffic of the last second, or that of the long past if they differ only by chance. */
export function peaksOf(window: Window): { readonly pps: Measured; readonly bps: Measured } {
  const second = sum(window.buckets.slice(-PEAK_DEPTH));
  return {
    pps: peakOf('packets', 'packetVariance', second, window.faded),
    bps: peakOf('bits', 'bitVariance', second, window.faded),
  };
}

function peakOf(
  amount: 'packets' | 'bits',
  variance: 'packetVariance' | 'bitVariance',
  second: Bucket,
  faded: Window['faded'],
): Measured {
  const measured = (from: Bucket): Measured => {
    // A new flood fills only a part of the second, so its rate is unknown until the second is over.
    const seconds = Math.max(from.durationMs, 990) / 1000;
    const value = from[amount] / seconds;
    const error = (PEAK_ERRORS * Math.sqrt(from[variance])) / seconds;
    return { value, low: Math.max(0, value - error), high: value + error };
  };
  const now = measured(second);
  const before = measured(faded);
  const sure = ((now.high - now.value) / PEAK_ERRORS) * SURE_ERRORS;
  const isChance = second[variance] > 0 && Math.abs(now.value - before.value) <= sure;
  return isChance ? before : now;
}

/** Uses loops: this runs for every subject in every bucket. */
function sum(buckets: readonly Bucket[]): Bucket {
  let durationMs = 0;
  let loadPackets = 0;
  let loadBits = 0;
  let packets = 0;
  let bits = 0;
  let packetVariance = 0;
  let bitVariance = 0;
  for (const bucket of buckets) {
    durationMs += bucket.durationMs;
    loadPackets += bucket.loadPackets;
    loadBits += bucket.loadBits;
    packets += bucket.packets;
    bits += bucket.bits;
    packetVariance += bucket.packetVariance;
    bitVariance += bucket.bitVariance;
  }
  return { durationMs, loadPackets, loadBits, packets, bits, packetVariance, bitVariance };
}
