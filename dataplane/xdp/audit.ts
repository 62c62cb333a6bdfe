import type { EarlyDropDriver } from './driver/driver.ts';

/** Reading back one takes some thirty microseconds with ten rules, half a millisecond with a hundred and forty. */
const TARGETS_A_LOOK = 10;

/**
 * Whether what judges stands in the kernel as it was put there: no news tells of a map that somebody changes. Elements
 * that somebody adds are not found.
 */
export class Audit {
  readonly #driver: EarlyDropDriver;
  #isDoubted = false;
  #renewals = 0;
  /** Of what was loaded when this round began. */
  #round: Iterator<string> = [].values();

  constructor(driver: EarlyDropDriver) {
    this.#driver = driver;
  }

  /** Something was found that somebody changed, and not all was put there anew since. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** How often all was put there anew for that. */
  get renewals(): number {
    return this.#renewals;
  }

  /** Whether this target is as it should be. */
  check(target: string): boolean {
    if (this.#driver.holds(target)) return true;
    this.#isDoubted = true;
    return false;
  }

  /** The next few targets in turn; a round begins with what is loaded then. */
  look(loaded: ReadonlyMap<string, unknown>): boolean {
    let isGood = true;
    for (let looked = 0; looked < TARGETS_A_LOOK; looked++) {
      const { value, done } = this.#round.next();
      if (done === true) {
        this.#round = loaded.keys();
        return isGood;
      }
      if (!this.check(value)) isGood = false;
    }
    return isGood;
  }

  /** All was put there anew. */
  renewed(): void {
    if (this.#isDoubted) this.#renewals++;
    this.#isDoubted = false;
  }
}
