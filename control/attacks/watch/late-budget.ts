/** An edge keeps 512 attacks on its disk, and tells each again when it has ended. */
const MOST = 1_024;
/** So long until it may tell as many again. */
const REFILL_MS = 3_600_000;

/** How many attacks each edge may tell of, so that none can fill the history. */
export class LateBudget {
  readonly #nowMs: () => number;
  readonly #spent = new Map<string, { readonly amount: number; readonly atMs: number }>();

  /** `nowMs`: of a clock that does not jump. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Whether there is room for so many; then they are taken. */
  take(edge: string, amount: number): boolean {
    const spent = this.#spentBy(edge);
    if (spent + amount > MOST) return false;
    this.#spent.set(edge, { amount: spent + amount, atMs: this.#nowMs() });
    return true;
  }

  /** They could not be recorded, and will be told again. */
  giveBack(edge: string, amount: number): void {
    this.#spent.set(edge, { amount: this.#spentBy(edge) - amount, atMs: this.#nowMs() });
  }

  #spentBy(edge: string): number {
    const { amount, atMs } = this.#spent.get(edge) ?? { amount: 0, atMs: 0 };
    return Math.max(0, amount - (MOST * (this.#nowMs() - atMs)) / REFILL_MS);
  }
}
