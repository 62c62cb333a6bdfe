import { Problem } from '../problem.ts';

/** Unknown keys that one source may try: a burst, and how many come back each second. */
const BURST = 20;
const PER_SECOND = 1;
/** Sources with a full budget are dropped when there are many. */
const MAX_SOURCES = 10_000;
/** Keys that were good lately, so that a source that is out of budget does not keep others behind its address out. */
const MAX_PROVEN = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * Bounds what strangers cost: each unknown key is a query. Without budget only keys that were good before are looked up.
 * An IPv6 source counts by its /64, which is what one subscriber has. Sources do not
 * share a budget: many strangers must not keep a caller out who was never seen.
 */
export class UnknownKeyBudget {
  readonly #nowMs: () => number;
  readonly #sources = new Map<string, Bucket>();
  readonly #proven = new Set<string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Takes a token before the look-up, so that many at once cannot pass together; `found` gives it back. Throws 429
   * `rate_limited` if the source has none.
   */
  take(hash: string, source: string): void {
    if (this.#proven.has(hash)) return;
    const bucket = this.#bucketOf(source);
    if (bucket.tokens < 1) throw tooMany();
    bucket.tokens -= 1;
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
    const bucket = this.#bucketOf(source);
    bucket.tokens = Math.min(BURST, bucket.tokens + 1);
  }

  /** The key was looked up and is unknown. */
  unknown(hash: string): void {
    this.#proven.delete(hash);
  }

  #bucketOf(source: string): Bucket {
    const now = this.#nowMs();
    const block = blockOf(source);
    const bucket = this.#sources.get(block) ?? { tokens: BURST, atMs: now };
    bucket.tokens = refilled(bucket, now);
    bucket.atMs = now;
    if (this.#sources.size > MAX_SOURCES) this.#dropFull(now);
    this.#sources.set(block, bucket);
    return bucket;
  }

  #dropFull(now: number): void {
    for (const [block, bucket] of this.#sources)
      if (refilled(bucket, now) >= BURST) this.#sources.delete(block);
  }
}

function tooMany(): Problem {
  return new Problem(
    'rate_limited',
    'Too many unknown API keys came from here. Check the key, and try again in 1 s.',
    {
      headers: {
        'retry-after': '1',
        'ratelimit-policy': `"source";q=${BURST};w=${BURST / PER_SECOND}`,
        ratelimit: '"source";r=0;t=1',
      },
    },
  );
}

function refilled({ tokens, atMs }: Bucket, now: number): number {
  return Math.min(BURST, tokens + ((now - atMs) / 1_000) * PER_SECOND);
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
