/**
 * Lets so many lines and bytes through in a window of time; the rest is only counted. Wings' numbers: 2,000 lines in
 * 100 ms.
 */
export class FloodGate {
  private readonly limits: FloodLimits;
  private windowStart = Number.NEGATIVE_INFINITY;
  private lines = 0;
  private bytes = 0;
  private waiting = 0;
  /** All that were dropped, ever. */
  dropped = 0;

  constructor(limits: FloodLimits) {
    this.limits = limits;
  }

  /** Whether a line of so many bytes may pass now. */
  admits(bytes: number, nowMs: number): boolean {
    if (nowMs - this.windowStart >= this.limits.windowMs || nowMs < this.windowStart) {
      this.windowStart = nowMs;
      this.lines = 0;
      this.bytes = 0;
    }
    this.lines += 1;
    this.bytes += bytes;
    const passes = this.lines <= this.limits.lines && this.bytes <= this.limits.bytes;
    if (!passes) {
      this.waiting += 1;
      this.dropped += 1;
    }
    return passes;
  }

  /** How many were dropped since this was last asked. */
  takeDropped(): number {
    const { waiting } = this;
    this.waiting = 0;
    return waiting;
  }
}

export interface FloodLimits {
  readonly windowMs: number;
  readonly lines: number;
  readonly bytes: number;
}
