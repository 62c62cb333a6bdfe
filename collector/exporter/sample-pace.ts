/** Streams of one exporter; an exporter with more is not one, or forged. */
const MAX_STREAMS = 256;
/** An agent that sends more rarely is quiet, not kept waiting. */
const BUSY_MS = 100;
/** So many times the usual gap between datagrams is a stall; so much less of it, and what was held up comes at once. */
const STALL = 8;
const BURST = 0.25;
/** An agent that is silent for longer has nothing to send. */
const MAX_STALL_MS = 1_500;
/**
 * So many datagrams on end at once, and as large a part of what is usual in such a time, and it was a stall; fewer
 * come by chance after a pause of the traffic.
 */
const LEAST_AT_ONCE = 5;
const PART_AT_ONCE = 0.1;
/** Of the usual gap, by the latest. */
const LEARNING = 0.1;
/** What is taken for a stall and is none, as batches of a busy machine, makes nothing later than this. */
const MAX_LAG_MS = 1_500;
/** So many datagrams on end at the usual gap, and nothing is held up any more. */
const CALM = 3;

interface Stream {
  noteMs: number;
  /** Between datagrams, usually. */
  gapMs: number;
  /** Null: it sends as usual. */
  held: Held | null;
}

/** A stall, or a pause of the traffic. */
interface Held {
  /** When the latest datagram before it came. */
  readonly sinceMs: number;
  /** Datagrams since then. */
  count: number;
  /** On end: that came at once, and that came at the usual gap. */
  atOnce: number;
  calm: number;
  isConfirmed: boolean;
  /** Datagrams at once that confirm it. */
  readonly needed: number;
}

/**
 * When the samples of a datagram were taken. They carry no time, but a busy agent sends at a pace: when it was silent
 * and then sends much at once, it was kept waiting, and what it sends is of the silence.
 */
export class SamplePace {
  readonly #streams = new Map<string | number, Stream>();

  /** How long before `sentMs` a datagram would have been sent by an agent that is never kept waiting, milliseconds. */
  lagOf(stream: string | number, sentMs: number): number {
    const known = this.#streams.get(stream);
    if (known === undefined) {
      if (this.#streams.size >= MAX_STREAMS) this.#forgetOldest();
      this.#streams.set(stream, { noteMs: sentMs, gapMs: 1000, held: null });
      return 0;
    }
    const gapMs = Math.max(0, sentMs - known.noteMs);
    const lagMs = lagAfter(known, gapMs, sentMs);
    known.noteMs = Math.max(known.noteMs, sentMs);
    return lagMs;
  }

  #forgetOldest(): void {
    for (const oldest of this.#streams.keys()) {
      this.#streams.delete(oldest);
      return;
    }
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
    // Of the first long gap it is not known yet whether it is usual now.
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
  // One that waits for its turn again and again stalls in between, too.
  held.calm = isAtOnce || isStall ? 0 : held.calm + 1;
  held.isConfirmed ||= held.atOnce >= held.needed;
  return held.isConfirmed ? held.calm < CALM : isAtOnce;
}
