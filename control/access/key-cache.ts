/** The time to live of a cached key: the bound on a lost notification. */
const TTL_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly answer: Promise<T | null>;
  readonly requestedAt: number;
}

/**
 * Caches keys for a second from the start of the query, so that a result from before a revocation expires in time.
 * Concurrent equal queries share one. Unknown keys (null) are not kept, so that strangers evict no valid one; what they
 * may query is bounded by `UnknownKeyBudget`.
 */
export class KeyCache<T> {
  /** Ordered by age. */
  readonly #entries = new Map<string, Entry<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async get(key: string, query: () => Promise<T | null>): Promise<T | null> {
    const now = this.#nowMs();
    const found = this.#entries.get(key);
    if (found !== undefined && now - found.requestedAt < TTL_MS) return found.answer;
    const entry: Entry<T> = { answer: query(), requestedAt: now };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#evict(now);
    // Failures are not kept either.
    const answer = await entry.answer.catch(() => null);
    if (answer === null && this.#entries.get(key) === entry) this.#entries.delete(key);
    return entry.answer;
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }

  #evict(now: number): void {
    for (const [oldest, { requestedAt }] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && now - requestedAt < TTL_MS) return;
      this.#entries.delete(oldest);
    }
  }
}
