/** Streams of one exporter that are numbered apart; an exporter with more is not one, or forged. */
const MAX_STREAMS = 256;
/** A larger gap is a restart, not a loss. */
const MAX_GAP = 1_000_000;
/** Datagrams that overtake each other are no further apart. */
const MAX_REORDERED = 64;

/**
 * What was lost on the way from an exporter, told by the numbers of its datagrams: every stream counts what it has
 * sent, in datagrams or in records.
 */
export class Sequences {
  readonly #expected = new Map<string | number, number>();
  lost = 0;

  /** `length`: by how much the next number will be larger; null where that cannot be told. */
  note(stream: string | number, sequence: number, length: number | null): void {
    const expected = this.#expected.get(stream);
    if (expected !== undefined) {
      const gap = (sequence - expected) >>> 0;
      if (gap > 0 && gap <= MAX_GAP) this.lost += gap;
      const back = (expected - sequence) >>> 0;
      if (back > 0 && back <= MAX_REORDERED) {
        // It was taken for lost when those behind it came first.
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
