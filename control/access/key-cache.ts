/** The time to live of a cached key: the bound on a lost notification. */
const TTL_MS = 1_000;
/** Each of known and unknown keys. */
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly answer: Promise<T | null>;
  readonly askedAt: number;
}

/**
 * Caches keys for a second from the start of the query, so that a result from before a revocation expires in time.
 * Concurrent equal queries share one. Unknown keys (null) are cached apart, so that strangers evict no valid one.
 */
export class KeyCache<T> {
  readonly #known = new Map<string, Entry<T>>();
  /** Unknown keys, and those that are being asked for. */
  readonly #others = new Map<string, Entry<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async get(key: string, ask: () => Promise<T | null>): Promise<T | null> {
    const now = this.#nowMs();
    const found = this.#known.get(key) ?? this.#others.get(key);
    if (found !== undefined && now - found.askedAt < TTL_MS) return found.answer;
    this.#known.delete(key);
    const entry: Entry<T> = { answer: ask(), askedAt: now };
    this.#put(this.#others, key, entry);
    try {
      const answer = await entry.answer;
      if (answer !== null && this.#forget(key, entry)) this.#put(this.#known, key, entry);
      return answer;
    } catch (error) {
      // Failures are not cached.
      this.#forget(key, entry);
      throw error;
    }
  }

  clear(): void {
    this.#known.clear();
    this.#others.clear();
  }

  get size(): number {
    return this.#known.size + this.#others.size;
  }

  /** Returns whether the query is still the last one of its key, and none has cleared the cache meanwhile. */
  #forget(key: string, entry: Entry<T>): boolean {
    return this.#others.get(key) === entry && this.#others.delete(key);
  }

  #put(entries: Map<string, Entry<T>>, key: string, entry: Entry<T>): void {
    // Deleted first, so that the map is ordered by age.
    entries.delete(key);
    entries.set(key, entry);
    for (const [oldest, { askedAt }] of entries) {
      if (entries.size <= MAX_ENTRIES && this.#nowMs() - askedAt < TTL_MS) return;
      entries.delete(oldest);
    }
  }
}
