/** From when to when, wall clock, a process was kept from running. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const TICK_MS = 10;
/** So late, other work of the machine was in the way. */
const STALL_MS = 100;
const MAX_STALLS = 10_000;

/**
 * Tells when a machine kept a process of this one's priority waiting. Promises of time are of a machine that lets
 * whoever keeps them run: what was sent while it did not is sent again.
 */
export class Witness {
  readonly stalls: Stall[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Milliseconds that it waited, in all, in this time of the wall clock. */
  stalledMs(fromMs: number, toMs: number): number {
    return this.stalls.reduce(
      (sum, stall) =>
        sum + Math.max(0, Math.min(toMs, stall.toMs) - Math.max(fromMs, stall.fromMs)),
      0,
    );
  }

  #tick(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#lastMs - TICK_MS;
    this.#lastMs = nowMs;
    if (lateMs < STALL_MS || this.stalls.length >= MAX_STALLS) return;
    const toMs = performance.timeOrigin + nowMs;
    this.stalls.push({ fromMs: toMs - lateMs, toMs });
  }
}
