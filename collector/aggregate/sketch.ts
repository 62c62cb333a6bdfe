const ROWS = 2;
const COLUMNS = 65_536;

/**
 * A count-min sketch: an estimate per key that is never too low. It decides whether a destination deserves a slot when
 * forged destinations have taken them all.
 */
export class Sketch {
  readonly #counts = new Float32Array(ROWS * COLUMNS);

  /** Adds and returns the new estimate of the key. */
  add(hash: number, amount: number): number {
    const first = hash & (COLUMNS - 1);
    const second = COLUMNS + ((Math.imul(hash, 0x9e3779b1) >>> 16) & (COLUMNS - 1));
    const counts = this.#counts;
    counts[first] = (counts[first] as number) + amount;
    counts[second] = (counts[second] as number) + amount;
    return Math.min(counts[first], counts[second]);
  }

  clear(): void {
    this.#counts.fill(0);
  }
}
