import { createHash } from 'node:crypto';
import type { CompiledQuery } from 'kysely';

const MAX_COUNTS = 2_000;

/**
 * A cache of counts: following the links of a long list needs the same count repeatedly. Counts as of a revision never
 * change, so only the size is bounded.
 */
export class CountCache {
  readonly #counts = new Map<string, number>();

  /** The counts of queries, in order. `count` counts the unknown ones, given by their places. */
  async get(
    queries: readonly CompiledQuery[],
    count: (places: readonly number[]) => Promise<readonly number[]>,
  ): Promise<readonly number[]> {
    const keys = queries.map(keyOf);
    const known = keys.map((key) => this.#counts.get(key));
    const unknown = known.flatMap((one, place) => (one === undefined ? [place] : []));
    const counted = unknown.length === 0 ? [] : await count(unknown);
    for (const [at, place] of unknown.entries()) {
      known[place] = counted[at] ?? 0;
      this.#counts.set(keys[place] ?? '', counted[at] ?? 0);
    }
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size <= MAX_COUNTS) break;
      this.#counts.delete(oldest);
    }
    return known.map((one) => one ?? 0);
  }
}

function keyOf({ sql, parameters }: CompiledQuery): string {
  return createHash('sha256')
    .update(JSON.stringify([sql, parameters]))
    .digest('base64url');
}
