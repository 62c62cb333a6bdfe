import { putBounded } from './put-bounded.ts';

/** The most streams of one exporter. */
const MAX_STREAMS = 256;
/** A larger delay means that the exporter restarted or its clock was set. */
const MAX_DELAY_MS = 10_000;
/** The fastest datagram counts as undelayed; the reference slows by this share of the time, because clocks drift. */
const DRIFT = 0.001;
/** The period in which the clock's rate is checked; the minimum delay covers this period and the one before. */
const WINDOW_MS = 5_000;
/** If all datagrams are slower by more, the clock was set back. */
const MAX_SET_MS = 1_500;
/** A clock with a larger error in a window stands still or counts other units, and is not used. */
const MAX_DRIFT_MS = 250;

/** The possible resolutions: many sFlow agents and IPFIX exporters count in seconds. */
const STEPS_MS = [1000, 100, 10, 1] as const;

interface Stream {
  readonly firstMs: number;
  /** The largest resolution that fits all values. */
  stepMs: number;
  /** The offset of the two clocks without delay. */
  quickest: number;
  noteMs: number;
  /** The smallest offset in this window and in the one before. */
  least: number;
  before: number;
  sinceMs: number;
  /** Whether a complete window precedes this one. */
  hasBefore: boolean;
  isTrusted: boolean;
}

/** The reading of a datagram's clock. */
export interface Reading {
  /** The delay of the datagram, including its wait in the socket. */
  readonly delayMs: number;
  /** The offset of our clock to the exporter's. Null if unknown. */
  readonly aheadMs: number | null;
}

const NOTHING_REPORTED: Reading = { delayMs: 0, aheadMs: null };

/**
 * Measures the delay of datagrams by the exporter's timestamps, relative to the fastest recent datagram. Only
 * differences count, so the exporter's clock may show any time.
 */
export class ExportClock {
  readonly #streams = new Map<string | number, Stream>();

  /** `sentMs`: the exporter's timestamp. */
  read(stream: string | number, nowMs: number, sentMs: number): Reading {
    const difference = nowMs - sentMs;
    const known = this.#streams.get(stream);
    if (known === undefined || difference - known.quickest > MAX_DELAY_MS) {
      putBounded(this.#streams, stream, begun(nowMs, sentMs), MAX_STREAMS);
      return NOTHING_REPORTED;
    }
    known.stepMs = stepOf(known, sentMs);
    watch(known, difference, nowMs);
    const drifted = known.quickest + Math.max(0, nowMs - known.noteMs) * DRIFT;
    known.quickest = Math.min(drifted, difference);
    known.noteMs = nowMs;
    if (!known.isTrusted) return NOTHING_REPORTED;
    const { quickest, stepMs } = known;
    // A difference below the resolution is no delay.
    return { delayMs: Math.max(0, difference - quickest - (stepMs - 1)), aheadMs: quickest };
  }
}

/** Checks the clock's rate from window to window. */
function watch(known: Stream, difference: number, nowMs: number): void {
  if (nowMs - known.sinceMs > WINDOW_MS) {
    const driftMs = Math.abs(known.least - known.before);
    known.isTrusted = known.hasBefore && driftMs <= MAX_DRIFT_MS + known.stepMs;
    const quick = Math.min(known.least, known.before);
    if (quick - known.quickest > MAX_SET_MS) known.quickest = quick;
    known.before = known.least;
    known.hasBefore = true;
    known.least = difference;
    known.sinceMs = nowMs;
  }
  known.least = Math.min(known.least, difference);
}

function stepOf({ firstMs, stepMs }: Stream, sentMs: number): number {
  if ((sentMs - firstMs) % stepMs === 0) return stepMs;
  return STEPS_MS.find((step) => (sentMs - firstMs) % step === 0) ?? 1;
}

function begun(nowMs: number, sentMs: number): Stream {
  const difference = nowMs - sentMs;
  return {
    firstMs: sentMs,
    stepMs: STEPS_MS[0],
    quickest: difference,
    noteMs: nowMs,
    least: difference,
    before: difference,
    sinceMs: nowMs,
    hasBefore: false,
    isTrusted: false,
  };
}
