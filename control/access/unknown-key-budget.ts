import { Problem } from '../problem.ts';
import { TokenBuckets } from '../token-buckets.ts';

/** Unknown keys that one source may try: a burst, and how many come back each second. */
const SIZE = { capacity: 20, perSecond: 1 } as const;
/** Keys that were good lately, so that a source that is out of budget does not keep others behind its address out. */
const MAX_PROVEN = 10_000;

/**
 * Bounds what strangers cost: each unknown key is a query. Without budget only keys that were good before are looked up.
 * An IPv6 source counts by its /64, which is what one subscriber has. Sources do not
 * share a budget: many strangers must not keep a caller out who was never seen.
 */
export class UnknownKeyBudget {
  readonly #sources: TokenBuckets;
  readonly #proven = new Set<string>();

  constructor(nowMs?: () => number) {
    this.#sources = new TokenBuckets(nowMs);
  }

  /**
   * Takes a token before the look-up, so that many at once cannot pass together; `found` gives it back. Throws 429
   * `rate_limited` if the source has none.
   */
  take(hash: string, source: string): void {
    if (this.#proven.has(hash)) return;
    if (!this.#sources.take(blockOf(source), SIZE).isTaken) throw tooMany();
  }

  /** The key was found. */
  found(hash: string, source: string): void {
    const isProven = this.#proven.delete(hash);
    this.#proven.add(hash);
    if (!isProven) this.giveBack(source);
    const [oldest] = this.#proven;
    if (this.#proven.size > MAX_PROVEN && oldest !== undefined) this.#proven.delete(oldest);
  }

  /** The look-up failed, which says nothing of the key. */
  giveBack(source: string): void {
    this.#sources.giveBack(blockOf(source), SIZE);
  }

  /** The key was looked up and is unknown. */
  unknown(hash: string): void {
    this.#proven.delete(hash);
  }
}

function tooMany(): Problem {
  return new Problem(
    'rate_limited',
    'Too many unknown API keys came from here. Check the key, and try again in 1 s.',
    {
      headers: {
        'retry-after': '1',
        'ratelimit-policy': `"source";q=${SIZE.capacity};w=${SIZE.capacity / SIZE.perSecond}`,
        ratelimit: '"source";r=0;t=1',
      },
    },
  );
}

/** Sources are canonical, so the first groups of an IPv6 address may be shortened by `::`. */
function blockOf(source: string): string {
  if (!source.includes(':')) return source;
  const [head = '', tail] = source.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array.from({ length: zeros }, () => '0'), ...after].slice(0, 4).join(':');
}
