import { putBounded } from './put-bounded.ts';

/** The most streams of one exporter. */
const MAX_STREAMS = 256;
/** An agent that sends less often is idle, not stalled. */
const BUSY_MS = 100;
/** A gap of this many usual gaps is a stall; a gap shorter by this factor belongs to the burst after it. */
const STALL = 8;
const BURST = 0.25;
/** An agent that is silent for longer has no traffic. */
const MAX_STALL_MS = 1_500;
/**
 * A stall is confirmed by this many datagrams in a burst and this share of the usual number; fewer can follow a pause of
 * the traffic by chance.
 */
const LEAST_AT_ONCE = 5;
const PART_AT_ONCE = 0.1;
/** The weight of the latest gap in the average. */
const LEARNING = 0.1;
/** The largest correction, in case a batch of a loaded machine was taken for a stall. */
const MAX_LAG_MS = 1_500;
/** After this many datagrams at the usual gap the stall is over. */
const CALM = 3;

interface Stream {
  noteMs: number;
  /** The average gap between datagrams. */
  gapMs: number;
  /** Null while it sends as usual. */
  held: Held | null;
}

/** A possible stall: it may also be a pause of the traffic. */
interface Held {
  /** The time of the last datagram before it. */
  readonly sinceMs: number;
  /** The number of datagrams since then. */
  count: number;
  /** Consecutive datagrams of the burst, and at the usual gap. */
  atOnce: number;
  calm: number;
  isConfirmed: boolean;
  /** The number of burst datagrams that confirm it. */
  readonly needed: number;
}

/**
 * Estimates when the samples of a datagram were taken. sFlow has no timestamps, but a busy agent sends at a steady pace:
 * a burst after a silence was delayed, and its samples belong to the silence.
 */
export class SamplePace {
  readonly #streams = new Map<string | number, Stream>();

  /** The estimated delay of a datagram inside the agent, in milliseconds. */
  lagOf(stream: string | number, sentMs: number): number {
    const known = this.#streams.get(stream);
    if (known === undefined) {
      const begun = { noteMs: sentMs, gapMs: 1000, held: null };
      putBounded(this.#streams, stream, begun, MAX_STREAMS);
      return 0;
    }
    const gapMs = Math.max(0, sentMs - known.noteMs);
    const lagMs = lagAfter(known, gapMs, sentMs);
    known.noteMs = Math.max(known.noteMs, sentMs);
    return lagMs;
  }
}

function lagAfter(known: Stream, gapMs: number, sentMs: number): number {
  const { gapMs: usualMs, held } = known;
  const isStall = gapMs > STALL * usualMs && usualMs <= BUSY_MS;
  const isAtOnce = gapMs < BURST * usualMs;
  if (held === null || !isStillHeld(held, isAtOnce, isStall)) {
    const sinceMs = known.noteMs;
    const needed = Math.max(LEAST_AT_ONCE, (PART_AT_ONCE * gapMs) / usualMs);
    const begun = { sinceMs, count: 1, atOnce: 0, calm: 0, isConfirmed: false, needed };
    known.held = isStall && gapMs <= MAX_STALL_MS ? begun : null;
    // The first long gap may be the new usual gap.
    if (held !== null || !isStall)
      known.gapMs += LEARNING * (Math.min(gapMs, STALL * usualMs) - usualMs);
    return 0;
  }
  if (!held.isConfirmed) return 0;
  const lagMs = sentMs - (held.sinceMs + held.count * usualMs);
  if (lagMs > 0) return Math.min(lagMs, MAX_LAG_MS);
  known.held = null;
  return 0;
}

function isStillHeld(held: Held, isAtOnce: boolean, isStall: boolean): boolean {
  held.count++;
  held.atOnce = isAtOnce ? held.atOnce + 1 : 0;
  // An agent under load stalls repeatedly.
  held.calm = isAtOnce || isStall ? 0 : held.calm + 1;
  held.isConfirmed ||= held.atOnce >= held.needed;
  return held.isConfirmed ? held.calm < CALM : isAtOnce;
}
