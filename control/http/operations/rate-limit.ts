import { TokenBuckets } from '../../token-buckets.ts';
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

const WINDOW_SECONDS = 60;

/**
 * A burst of a minute's requests for each key, refilled evenly. Kept per process, so each replica grants the limit; a
 * shared store would cost every read a round trip. Headers:
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/.
 */
export function createRateLimiter(nowMs?: () => number): RateLimiter {
  const buckets = new TokenBuckets(nowMs);
  return {
    take({ keyId, organisation }) {
      const limit = organisation.limits.requestsPerMinute;
      const perSecond = limit / WINDOW_SECONDS;
      const { isTaken, left } = buckets.take(keyId, { capacity: limit, perSecond });
      const headers = {
        'ratelimit-policy': `"key";q=${limit};w=${WINDOW_SECONDS}`,
        // `t` is the time until the whole quota is available.
        ratelimit: `"key";r=${Math.floor(left)};t=${Math.ceil((limit - left) / perSecond)}`,
      };
      if (isTaken) return headers;
      const seconds = Math.max(1, Math.ceil((1 - left) / perSecond));
      throw new Problem(
        'rate_limited',
        `This key may send ${limit} requests a minute. Try again in ${seconds} s.`,
        { headers: { ...headers, 'retry-after': String(seconds) } },
      );
    },
  };
}
