/** How long an answer about a key may be used again: the bound on what a lost notification can do. */
const TTL_MS = 1_000;
/** Unknown keys are remembered too, and whoever tries many must not fill the memory. */
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly answer: Promise<T>;
  readonly askedAt: number;
}

/**
 * Remembers answers for a second, counted from when the question was asked: an answer that was on its way
 * while its key was revoked is as old as the question. Equal questions at one time are asked once.
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
    // Deleted first, so that the order of the map is the order of age.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#dropOldest(now);
    try {
      return await entry.answer;
    } catch (error) {
      // A failure is nobody's answer but the asker's.
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
