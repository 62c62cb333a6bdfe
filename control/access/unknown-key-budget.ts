import { Problem } from '../problem.ts';

/** Unknown keys that one source, and all sources together, may try: a burst, and how many come back each second. */
const OF_SOURCE = { burst: 20, perSecond: 1 };
const OF_ALL = { burst: 400, perSecond: 200 };
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
 * An IPv6 source counts by its /64, which is what one subscriber has.
 */
export class UnknownKeyBudget {
  readonly #nowMs: () => number;
  readonly #sources = new Map<string, Bucket>();
  readonly #all: Bucket;
  readonly #proven = new Set<string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#all = { tokens: OF_ALL.burst, atMs: nowMs() };
  }

  /** Throws 429 `rate_limited` if the key must not be looked up now. */
  require(hash: string, source: string): void {
    if (this.#proven.has(hash)) return;
    const now = this.#nowMs();
    const own = this.#sources.get(blockOf(source));
    const left = own === undefined ? OF_SOURCE.burst : refilled(own, OF_SOURCE, now);
    if (left >= 1 && refilled(this.#all, OF_ALL, now) >= 1) return;
    throw new Problem(
      'rate_limited',
      'Too many unknown API keys came from here. Check the key, and try again in 1 s.',
      {
        headers: {
          'retry-after': '1',
          'ratelimit-policy': `"source";q=${OF_SOURCE.burst};w=${OF_SOURCE.burst / OF_SOURCE.perSecond}`,
          ratelimit: '"source";r=0;t=1',
        },
      },
    );
  }

  /** The key was found. */
  found(hash: string): void {
    this.#proven.delete(hash);
    this.#proven.add(hash);
    const [oldest] = this.#proven;
    if (this.#proven.size > MAX_PROVEN && oldest !== undefined) this.#proven.delete(oldest);
  }

  /** The key was looked up and is unknown. */
  spend(hash: string, source: string): void {
    this.#proven.delete(hash);
    const now = this.#nowMs();
    const block = blockOf(source);
    if (this.#sources.size > MAX_SOURCES) this.#dropFull(now);
    const own = this.#sources.get(block) ?? { tokens: OF_SOURCE.burst, atMs: now };
    this.#sources.set(block, own);
    for (const [bucket, limits] of [
      [own, OF_SOURCE],
      [this.#all, OF_ALL],
    ] as const) {
      bucket.tokens = Math.max(0, refilled(bucket, limits, now) - 1);
      bucket.atMs = now;
    }
  }

  #dropFull(now: number): void {
    for (const [block, bucket] of this.#sources)
      if (refilled(bucket, OF_SOURCE, now) >= OF_SOURCE.burst) this.#sources.delete(block);
  }
}

function refilled({ tokens, atMs }: Bucket, limits: typeof OF_SOURCE, now: number): number {
  return Math.min(limits.burst, tokens + ((now - atMs) / 1_000) * limits.perSecond);
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
