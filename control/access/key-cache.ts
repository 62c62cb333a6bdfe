/** The time to live of a cached key: the bound on a lost notification. */
const TTL_MS = 1_000;
/** Unknown keys are cached too, so the cache is bounded. */
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly answer: Promise<T>;
  readonly askedAt: number;
}

/**
 * Caches keys for a second from the start of the query, so that a result from before a revocation expires in time.
 * Concurrent equal queries share one.
 */
export class KeyCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async get(key: string, ask: () => Promise<T>): Promise<T> {
    const now = this.#nowMs();
    const known = this.#entries.get(key);
    if (known !== undefined && now - known.askedAt < TTL_MS) return known.answer;
    const entry: Entry<T> = { answer: ask(), askedAt: now };
    // Deleted first, so that the map is ordered by age.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#dropOldest(now);
    try {
      return await entry.answer;
    } catch (error) {
      // Failures are not cached.
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }

  #dropOldest(now: number): void {
    for (const [key, { askedAt }] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && now - askedAt < TTL_MS) return;
      this.#entries.delete(key);
    }
  }
}
