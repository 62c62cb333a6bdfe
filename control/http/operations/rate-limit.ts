import type { ReplicaRelay, Usage } from '@portcullis/link/transport/relay.ts';
import { type BucketSize, TokenBuckets } from '../../token-buckets.ts';
import { Problem } from '../../problem.ts';

export interface RateLimited {
  /** The key, or the session's person. */
  readonly keyId: number | string;
  readonly organisation: { readonly limits: { readonly requestsPerMinute: number } };
}

export interface RateLimiter {
  /** Counts one request. Returns the rate limit headers; throws 429 above the limit. */
  take(caller: RateLimited): Readonly<Record<string, string>>;
  /** The requests counted since the last call. */
  takeUsage(): Usage;
  /** Counts requests that another replica has served. */
  spend(usage: Usage): void;
}

const WINDOW_SECONDS = 60;

/**
 * A burst of a minute's requests for each key, refilled evenly. Replicas report to one another what they counted
 * (`shareLimits`); a shared store would cost every read a round trip. Headers:
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/.
 */
export function createRateLimiter(nowMs?: () => number): RateLimiter {
  const buckets = new TokenBuckets(nowMs);
  /** Null until somebody takes it: it would grow. */
  let usage: Map<string, { requests: number; limit: number }> | null = null;
  return {
    take({ keyId, organisation }) {
      const limit = organisation.limits.requestsPerMinute;
      const size = sizeOf(limit);
      const { perSecond } = size;
      const { isTaken, left } = buckets.take(String(keyId), size);
      const headers = {
        'ratelimit-policy': `"key";q=${limit};w=${WINDOW_SECONDS}`,
        // `t` is the time until the whole quota is available.
        ratelimit: `"key";r=${Math.floor(left)};t=${Math.ceil((limit - left) / perSecond)}`,
      };
      if (isTaken) {
        const requests = (usage?.get(String(keyId))?.requests ?? 0) + 1;
        usage?.set(String(keyId), { requests, limit });
        return headers;
      }
      const seconds = Math.max(1, Math.ceil((1 - left) / perSecond));
      throw new Problem(
        'rate_limited',
        `This key may send ${limit} requests a minute. Try again in ${seconds} s.`,
        { headers: { ...headers, 'retry-after': String(seconds) } },
      );
    },
    takeUsage() {
      const taken = Object.fromEntries(usage ?? []);
      usage = new Map();
      return taken;
    },
    spend(others) {
      for (const [key, { requests, limit }] of Object.entries(others)) {
        buckets.spend(key, sizeOf(limit), requests);
      }
    },
  };
}

function sizeOf(limit: number): BucketSize {
  return { capacity: limit, perSecond: limit / WINDOW_SECONDS };
}

/** How far replicas are behind one another. */
const SHARE_MS = 250;

/** Makes a limit one of all replicas, within a quarter of a second. Returns what ends it. */
export function shareLimits(limiter: RateLimiter, relay: ReplicaRelay): () => Promise<void> {
  relay.onUsage((usage) => limiter.spend(usage));
  limiter.takeUsage();
  const timer = setInterval(() => {
    const usage = limiter.takeUsage();
    if (Object.keys(usage).length > 0) relay.publishUsage(usage);
  }, SHARE_MS);
  return async () => clearInterval(timer);
}
