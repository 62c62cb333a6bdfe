/** The most sequence streams of one exporter; more are forged. */
const MAX_STREAMS = 256;
/** A larger gap is a restart, no loss. */
const MAX_GAP = 1_000_000;
/** Reordered datagrams are within this distance. */
const MAX_REORDERED = 64;

/**
 * Counts losses between an exporter and the collector by sequence numbers. Each stream counts its datagrams or its
 * records.
 */
export class Sequences {
  readonly #expected = new Map<string | number, number>();
  lost = 0;

  /** `length`: the step to the next sequence number. Null if unknown. */
  note(stream: string | number, sequence: number, length: number | null): void {
    const expected = this.#expected.get(stream);
    if (expected !== undefined) {
      const gap = (sequence - expected) >>> 0;
      if (gap > 0 && gap <= MAX_GAP) this.lost += gap;
      const back = (expected - sequence) >>> 0;
      if (back > 0 && back <= MAX_REORDERED) {
        // It was counted as lost when later ones arrived first.
        this.lost = Math.max(0, this.lost - (length ?? 0));
        return;
      }
    } else if (this.#expected.size >= MAX_STREAMS) {
      for (const oldest of this.#expected.keys()) {
        this.#expected.delete(oldest);
        break;
      }
    }
    if (length === null) this.#expected.delete(stream);
    else this.#expected.set(stream, (sequence + length) >>> 0);
  }
}
