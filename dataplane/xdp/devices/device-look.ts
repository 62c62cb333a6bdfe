/** News may be lost, and a card's settings may change without any. */
const RARELY_MS = 30_000;

/**
 * When devices have to be looked at, which takes files of /sys for each: always where nobody tells of changes, else
 * after somebody did, and every half a minute.
 */
export class DeviceLook {
  #isFollowed = false;
  #isStirred = true;
  #lookedMs = -Infinity;

  /** From now on `stir` is called. What changed before that is not told. */
  follow(): void {
    this.#isFollowed = true;
    this.#isStirred = true;
  }

  stir(): void {
    this.#isStirred = true;
  }

  get isDue(): boolean {
    if (!this.#isFollowed || this.#isStirred) return true;
    return performance.now() - this.#lookedMs > RARELY_MS;
  }

  /** Before the first device is looked at: what changes meanwhile asks for another look. */
  begin(): void {
    this.#isStirred = false;
    this.#lookedMs = performance.now();
  }
}
