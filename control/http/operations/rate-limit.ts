import { Problem } from '../../problem.ts';

export interface RateLimited {
  /** The key, or the session's person. */
  readonly keyId: number | string;
  readonly organisation: { readonly limits: { readonly requestsPerMinute: number } };
}

export interface RateLimiter {
  /** Counts one request. Returns the rate limit headers; throws 429 above the limit. */
  take(caller: RateLimited): Readonly<Record<string, string>>;
}

const WINDOW_MS = 60_000;
/** Full buckets are dropped when there are many. */
const SWEEP_ABOVE = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * A token bucket per key: a burst of a minute's requests, refilled evenly. Kept per process, so each replica grants the
 * limit; a shared store would cost every read a round trip. Headers: https://datatracker.ietf.org/doc/draft-ietf-
 * httpapi-ratelimit-headers/.
 */
export function createRateLimiter(nowMs: () => number = () => performance.now()): RateLimiter {
  const buckets = new Map<number | string, Bucket>();
  return {
    take(caller) {
      const limit = caller.organisation.limits.requestsPerMinute;
      const now = nowMs();
      if (buckets.size > SWEEP_ABOVE) dropFull(buckets, now);
      const bucket = buckets.get(caller.keyId) ?? { tokens: limit, at: now };
      buckets.set(caller.keyId, bucket);
      bucket.tokens = Math.min(limit, bucket.tokens + ((now - bucket.at) * limit) / WINDOW_MS);
      bucket.at = now;
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens--;
      const headers = describe(limit, bucket.tokens);
      if (allowed) return headers;
      const seconds = Math.max(1, Math.ceil(((1 - bucket.tokens) * WINDOW_MS) / limit / 1000));
      throw new Problem(
        'rate_limited',
        `This key may send ${limit} requests a minute. Try again in ${seconds} s.`,
        { headers: { ...headers, 'retry-after': String(seconds) } },
      );
    },
  };
}

/** `t` is the time until the whole quota is available. */
function describe(limit: number, tokens: number): Readonly<Record<string, string>> {
  const untilFull = Math.ceil(((limit - tokens) * WINDOW_MS) / limit / 1000);
  return {
    'ratelimit-policy': `"key";q=${limit};w=${WINDOW_MS / 1000}`,
    ratelimit: `"key";r=${Math.floor(tokens)};t=${untilFull}`,
  };
}

function dropFull(buckets: Map<number | string, Bucket>, now: number): void {
  for (const [key, bucket] of buckets) if (now - bucket.at >= WINDOW_MS) buckets.delete(key);
}
