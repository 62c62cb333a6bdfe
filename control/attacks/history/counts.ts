import { createHash } from 'node:crypto';
import type { CompiledQuery } from 'kysely';

const MAX_COUNTS = 2_000;

/**
 * A cache of counts: following the links of a long list needs the same count repeatedly. Counts as of a revision never
 * change, so only the size is bounded.
 */
export class CountCache {
  readonly #counts = new Map<string, number>();

  async get(query: CompiledQuery, count: () => Promise<number>): Promise<number> {
    const key = createHash('sha256')
      .update(JSON.stringify([query.sql, query.parameters]))
      .digest('base64url');
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    const counted = await count();
    this.#counts.set(key, counted);
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size <= MAX_COUNTS) break;
      this.#counts.delete(oldest);
    }
    return counted;
  }
}
