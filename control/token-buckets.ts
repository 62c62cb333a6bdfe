/** How many tokens a bucket holds, and how many come back in a second. */
export interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
  /** When it is full again, if nothing more is taken. */
  fullAtMs: number;
}

/** Full buckets are dropped when there are many. */
const SWEEP_ABOVE = 10_000;

/** A token bucket for each key, in this process. A new one is full; a size that changed holds at once. */
export class TokenBuckets {
  readonly #buckets = new Map<string | number, Bucket>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Takes a token if there is one. `left` is what remains, which may be a fraction. */
  take(
    key: string | number,
    size: BucketSize,
  ): { readonly isTaken: boolean; readonly left: number } {
    const tokens = this.#tokensOf(key, size);
    const isTaken = tokens >= 1;
    const left = isTaken ? tokens - 1 : tokens;
    this.#store(key, size, left);
    return { isTaken, left };
  }

  /** Takes tokens that were used elsewhere, whether they are there or not; a debt of the capacity at most. */
  spend(key: string | number, size: BucketSize, count: number): void {
    this.#store(key, size, Math.max(-size.capacity, this.#tokensOf(key, size) - count));
  }

  giveBack(key: string | number, size: BucketSize): void {
    this.#store(key, size, Math.min(size.capacity, this.#tokensOf(key, size) + 1));
  }

  #tokensOf(key: string | number, { capacity, perSecond }: BucketSize): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return capacity;
    const refilled = ((this.#nowMs() - bucket.atMs) / 1_000) * perSecond;
    return Math.min(capacity, bucket.tokens + refilled);
  }

  #store(key: string | number, { capacity, perSecond }: BucketSize, tokens: number): void {
    const now = this.#nowMs();
    const fullAtMs = now + ((capacity - tokens) / perSecond) * 1_000;
    this.#buckets.set(key, { tokens, atMs: now, fullAtMs });
    if (this.#buckets.size <= SWEEP_ABOVE) return;
    for (const [each, bucket] of this.#buckets) {
      if (bucket.fullAtMs <= now) this.#buckets.delete(each);
    }
  }
}
