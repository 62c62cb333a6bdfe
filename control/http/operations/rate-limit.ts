import type { ReplicaRelay, Usage } from '@portcullis/link/transport/relay.ts';
import { type BucketSize, TokenBuckets } from '../../token-buckets.ts';
import { Problem } from '../../problem.ts';

export interface RateLimited {
  /** The key, the session's person, or the source. */
  readonly keyId: number | string;
  readonly requestsPerMinute: number;
  /** The owner of the limit, for the headers and a refusal. */
  readonly name: 'key' | 'person' | 'source' | 'organisation';
}

export interface RateLimiter {
  /**
   * Counts one request against each limit. Returns the rate limit headers, of the limit that is nearest; throws 429 above
   * one of them, and counts it against none then.
   */
  take(...limits: readonly RateLimited[]): Readonly<Record<string, string>>;
  /** The requests counted since the last call. */
  takeUsage(): Usage;
  /** Counts requests that another replica has served. */
  spend(usage: Usage): void;
}

const MINUTE_SECONDS = 60;
/** The burst is what the limit gives in this time, so that nobody has a minute's worth in work at once. */
const BURST_SECONDS = 10;
/** People of one household or office sign in, and a page of the portal opens. */
const LEAST_BURST = 20;

/**
 * A burst of ten seconds' requests for each limit, refilled evenly. Replicas report to one another what they counted
 * (`shareLimits`); a shared store would cost every read a round trip. Headers, of which the quota is the burst and the
 * window the time in which it comes back: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/.
 */
export function createRateLimiter(nowMs?: () => number): RateLimiter {
  const buckets = new TokenBuckets(nowMs);
  /** Null until somebody takes it: it would grow. */
  let usage: Map<string, { requests: number; limit: number }> | null = null;
  return {
    take(...limits) {
      const taken = limits.map((limit) => {
        const size = sizeOf(limit.requestsPerMinute);
        return { limit, size, ...buckets.take(String(limit.keyId), size) };
      });
      const refused = taken.find(({ isTaken }) => !isTaken);
      if (refused !== undefined) {
        for (const { limit, size, isTaken } of taken) {
          if (isTaken) buckets.giveBack(String(limit.keyId), size);
        }
        throw refusal(refused);
      }
      for (const { limit } of taken) {
        const key = String(limit.keyId);
        const requests = (usage?.get(key)?.requests ?? 0) + 1;
        usage?.set(key, { requests, limit: limit.requestsPerMinute });
      }
      return headersOf(taken.reduce((nearest, one) => (one.left < nearest.left ? one : nearest)));
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

interface Taken {
  readonly limit: RateLimited;
  readonly size: BucketSize;
  readonly isTaken: boolean;
  readonly left: number;
}

/** `t` is the time until the whole quota is available. */
function headersOf({ limit, size: { capacity, perSecond }, left }: Taken): Record<string, string> {
  const seconds = Math.ceil((capacity - left) / perSecond);
  return {
    'ratelimit-policy': `"${limit.name}";q=${capacity};w=${Math.round(capacity / perSecond)}`,
    ratelimit: `"${limit.name}";r=${Math.floor(left)};t=${seconds}`,
  };
}

const SUBJECTS: Readonly<Record<RateLimited['name'], string>> = {
  key: 'This key',
  person: 'This person',
  source: 'One source',
  organisation: 'All keys and people of this organisation together',
};

function refusal(refused: Taken): Problem {
  const { limit, size, left } = refused;
  const { name, requestsPerMinute } = limit;
  const seconds = Math.max(1, Math.ceil((1 - left) / size.perSecond));
  const burst = size.capacity < requestsPerMinute ? `, and ${size.capacity} of them at once` : '';
  return new Problem(
    'rate_limited',
    `${SUBJECTS[name]} may send ${requestsPerMinute} requests a minute${burst}. Try again in ${seconds} s.`,
    { headers: { ...headersOf(refused), 'retry-after': String(seconds) } },
  );
}

function sizeOf(limit: number): BucketSize {
  const perSecond = limit / MINUTE_SECONDS;
  const burst = Math.max(LEAST_BURST, Math.ceil(perSecond * BURST_SECONDS));
  return { capacity: Math.min(limit, burst), perSecond };
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
