/** Records of a busy exporter with short timeouts are not older than this. */
const USUAL_MS = 6_000;
/** After silence delayed records arrive at once, older by this at most. */
const MAX_SILENCE_MS = 16_000;
/** The delay shrinks by this share of the time, which bounds the error of rates. */
const SHRINKING = 0.01;

/**
 * The playout delay of an exporter. Records describe packets of different ages. Counted on arrival, an export by timer
 * or after a stall would look like a burst. So younger records wait until they are as old as the oldest recent ones,
 * and the traffic keeps its shape.
 *
 * The delay is bounded: an exporter with long timeouts must not delay all others.
 */
export class Playout {
  #waitMs = 0;
  #patienceMs = USUAL_MS;
  #noteMs: number | null = null;

  /** `ageMs`: the age of the record's first packet. */
  waitOf(ageMs: number, nowMs: number): number {
    const elapsedMs = this.#noteMs === null ? 0 : Math.max(0, nowMs - this.#noteMs);
    this.#noteMs = nowMs;
    this.#patienceMs = Math.max(
      this.#patienceMs - elapsedMs,
      USUAL_MS + Math.min(MAX_SILENCE_MS, elapsedMs),
    );
    this.#waitMs = Math.max(0, this.#waitMs - elapsedMs * SHRINKING);
    if (ageMs <= this.#patienceMs) this.#waitMs = Math.max(this.#waitMs, ageMs);
    return this.#waitMs;
  }
}
