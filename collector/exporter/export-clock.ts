/** Streams of one exporter whose clocks are known; an exporter with more is not one, or forged. */
const MAX_STREAMS = 256;
/** Further behind is no delay: the exporter started anew, or its clock was set. */
const MAX_DELAY_MS = 10_000;
/** The quickest datagram is taken for one without delay; so much of the time slower each time, as clocks drift. */
const DRIFT = 0.001;
/** How a clock goes is looked at so often: in one such time and the one before it no datagram may be slow for nothing. */
const WINDOW_MS = 5_000;
/** All of them slower by more: the clock was set back. */
const MAX_SET_MS = 1_500;
/** A clock that goes further astray in a window does not go, or not in milliseconds: it tells nothing. */
const MAX_DRIFT_MS = 250;

/** By how much clocks show more at a time: those of many agents of sFlow, and of IPFIX, go in seconds. */
const STEPS_MS = [1000, 100, 10, 1] as const;

interface Stream {
  readonly firstMs: number;
  /** The largest by which all that it showed can differ. */
  stepMs: number;
  /** The difference of the two clocks without delay. */
  quickest: number;
  noteMs: number;
  /** The least difference of the two clocks, in this window and in the one before it. */
  least: number;
  before: number;
  sinceMs: number;
  /** Whether there is a window before this one. */
  hasBefore: boolean;
  isTrusted: boolean;
}

/** What a datagram's clock tells. */
export interface Reading {
  /** How long it was on its way, or waited to be read. */
  readonly delayMs: number;
  /** What our clock shows more than the exporter's; null: that is not known. */
  readonly aheadMs: number | null;
}

const NOTHING_TOLD: Reading = { delayMs: 0, aheadMs: null };

/**
 * How long datagrams were on their way: by the clock that each carries, against the quickest of late. Only differences
 * count, so an exporter's clock may show anything, as long as it goes.
 */
export class ExportClock {
  readonly #streams = new Map<string | number, Stream>();

  /** `sentMs` by the exporter's clock. */
  read(stream: string | number, nowMs: number, sentMs: number): Reading {
    const difference = nowMs - sentMs;
    const known = this.#streams.get(stream);
    if (known === undefined) {
      if (this.#streams.size >= MAX_STREAMS) this.#forgetOldest();
      this.#streams.set(stream, begun(nowMs, sentMs));
      return NOTHING_TOLD;
    }
    if (difference - known.quickest > MAX_DELAY_MS) {
      this.#streams.set(stream, begun(nowMs, sentMs));
      return NOTHING_TOLD;
    }
    known.stepMs = stepOf(known, sentMs);
    watch(known, difference, nowMs);
    const drifted = known.quickest + Math.max(0, nowMs - known.noteMs) * DRIFT;
    known.quickest = Math.min(drifted, difference);
    known.noteMs = nowMs;
    if (!known.isTrusted) return NOTHING_TOLD;
    const { quickest, stepMs } = known;
    // Within a step nobody can tell.
    return { delayMs: Math.max(0, difference - quickest - (stepMs - 1)), aheadMs: quickest };
  }

  #forgetOldest(): void {
    for (const oldest of this.#streams.keys()) {
      this.#streams.delete(oldest);
      return;
    }
  }
}

/** How the clock goes, from window to window. */
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
