/** Records of a busy exporter with short timeouts are no older. */
const USUAL_MS = 6_000;
/** After silence, what had to wait during it comes at once: older by so much at most. */
const MAX_SILENCE_MS = 16_000;
/** The wait shrinks by this part of the time, so that rates are told too high by no more. */
const SHRINKING = 0.01;

/**
 * How long what an exporter tells waits before it counts. Records tell of packets of some time ago, each of another:
 * counted when they come, those of a timer's turn, or of a stall, would be a burst that never was. So the younger wait
 * until they are as old as the oldest of late, and everything counts in the shape in which it was.
 *
 * What is older than usual is not waited for: an exporter of long timeouts would make everybody wait.
 */
export class Playout {
  #waitMs = 0;
  #patienceMs = USUAL_MS;
  #noteMs: number | null = null;

  /** `ageMs`: how long ago the first packet of a record was. */
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
