import { ABILITIES, OPERATOR_ABILITIES } from '@portcullis/core/access/abilities.ts';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { Problem } from '../problem.ts';
import type { KeyHolder } from './caller.ts';
import type { KeyWithOrganisation } from './key-store.ts';
import { toOrganisationView } from './organisation-store.ts';
import { storedCidrs } from './reach.ts';
import { TokenBuckets } from '../token-buckets.ts';

/** An existing key, prepared once for all requests within a second. */
export interface KnownKey {
  readonly holder: KeyHolder;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly suspendedAt: Date | null;
  /** Null if it may be used from anywhere. */
  readonly sources: readonly Cidr[] | null;
}

/** Longer headers contain no valid key and are not read. */
const MAX_HEADER_LENGTH = 256;

/**
 * The key of an Authorization header, or why there is none. header = "Bearer" 1*SP key ; the scheme in any case: RFC
 * 9110 section 11.1
 */
export function parseAuthorization(header: string | undefined): Parsed<string> {
  if (header === undefined || header.trim() === '') {
    return refuse('Send an API key in the header "Authorization: Bearer <API_KEY>".');
  }
  const match = header.length <= MAX_HEADER_LENGTH ? /^bearer +(\S+) *$/i.exec(header) : null;
  if (match?.[1] === undefined) {
    return refuse('The Authorization header must be "Bearer", a space and an API key.');
  }
  const key = parseKey(match[1]);
  // The detail never contains the key, because it is shown and logged.
  return key.ok
    ? { ok: true, value: match[1] }
    : refuse(`The API key is malformed: ${key.reason}.`);
}

export function toKnownKey(known: KeyWithOrganisation): KnownKey {
  const { key } = known;
  return {
    holder: holderOf(known),
    expiresAt: key.expires_at,
    revokedAt: key.revoked_at,
    suspendedAt: key.suspended_at,
    sources: key.sources && key.sources.flatMap(storedCidrs),
  };
}

function holderOf({ key, organisation }: KeyWithOrganisation): KeyHolder {
  const { id: keyId, name: keyName } = key;
  if (organisation === null) {
    const abilities = OPERATOR_ABILITIES.filter((ability) => key.abilities.includes(ability));
    const by = { kind: 'operator-key', keyId, keyName, abilities: new Set(abilities) } as const;
    return { by, expiresAt: key.expires_at };
  }
  const by = {
    kind: 'key',
    keyId,
    keyName,
    organisationId: organisation.id,
    organisation: toOrganisationView(organisation),
    abilities: new Set(ABILITIES.filter((ability) => key.abilities.includes(ability))),
    prefixes: key.prefixes,
    servers: key.servers,
    managedServers: key.managed_servers,
  } as const;
  return { by, expiresAt: key.expires_at };
}

/** The holder, if the key may be used now from this source; throws `unauthenticated`. */
export function admit(known: KnownKey | null, source: string, now: Date): KeyHolder {
  if (known === null) throw unauthenticated('This API key is not known here.');
  if (known.revokedAt !== null) throw unauthenticated('This API key has been revoked.');
  if (known.suspendedAt !== null)
    throw unauthenticated(
      "This API key is suspended: it is not in the operator's fleet file any more.",
    );
  if (known.expiresAt !== null && known.expiresAt <= now) {
    throw unauthenticated(`This API key expired at ${known.expiresAt.toISOString()}.`);
  }
  if (known.sources !== null && !isInside(known.sources, source)) {
    throw unauthenticated(
      `This API key may not be used from ${source === '' ? 'an unknown address' : source}.`,
    );
  }
  return known.holder;
}

export function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
}

function isInside(sources: readonly Cidr[], text: string): boolean {
  const address = parseAddress(text);
  return address.ok && sources.some((source) => containsAddress(source, address.value));
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

/** The time to live of a cached key: the bound on a lost notification. */
const TTL_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly answer: Promise<T | null>;
  readonly requestedAt: number;
}

/**
 * Caches keys for a second from the start of the query, so that a result from before a revocation expires in time.
 * Concurrent equal queries share one. Unknown keys (null) are not kept, so that unauthenticated requests evict no
 * valid one; what they may query is bounded by `UnknownKeyBudget`.
 */
export class KeyCache<T> {
  /** Ordered by age. */
  readonly #entries = new Map<string, Entry<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async get(key: string, query: () => Promise<T | null>): Promise<T | null> {
    const now = this.#nowMs();
    const found = this.#entries.get(key);
    if (found !== undefined && now - found.requestedAt < TTL_MS) return found.answer;
    const entry: Entry<T> = { answer: query(), requestedAt: now };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#evict(now);
    // Failures are not kept either.
    const answer = await entry.answer.catch(() => null);
    if (answer === null && this.#entries.get(key) === entry) this.#entries.delete(key);
    return entry.answer;
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }

  #evict(now: number): void {
    for (const [oldest, { requestedAt }] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && now - requestedAt < TTL_MS) return;
      this.#entries.delete(oldest);
    }
  }
}

/** Limits of what one source may try that is unknown: a burst, and how many come back each second. */
const KEYS = { capacity: 20, perSecond: 1, what: 'API keys' } as const;
/** Browsers of an office send those of sessions that ended, and several at once. */
export const COOKIES = { capacity: 60, perSecond: 5, what: 'sessions' } as const;
type Tried = typeof KEYS | typeof COOKIES;
/** Keys that were good lately, so that a source that is out of budget does not keep others behind its address out. */
const MAX_PROVEN = 10_000;

/**
 * Bounds the cost of unknown keys, or of cookies of sessions: each is a query. Without budget only those that were good
 * before are looked up.
 * An IPv6 source counts by its /64, which is what one subscriber has. Sources do not
 * share a budget: many of them must not refuse a caller that was never seen.
 */
export class UnknownKeyBudget {
  readonly #sources: TokenBuckets;
  readonly #proven = new Set<string>();
  readonly #size: Tried;

  constructor(nowMs?: () => number, size: Tried = KEYS) {
    this.#size = size;
    this.#sources = new TokenBuckets(nowMs);
  }

  /**
   * Takes a token before the look-up, so that many at once cannot pass together; `found` gives it back. Throws 429
   * `rate_limited` if the source has none.
   */
  take(hash: string, source: string): void {
    if (this.#proven.has(hash)) return;
    if (!this.#sources.take(subscriberBlock(source), this.#size).isTaken) {
      throw tooMany(this.#size);
    }
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
    this.#sources.giveBack(subscriberBlock(source), this.#size);
  }

  /** The key was looked up and is unknown. */
  unknown(hash: string): void {
    this.#proven.delete(hash);
  }
}

function tooMany({ capacity, perSecond, what }: Tried): Problem {
  return new Problem(
    'rate_limited',
    `Too many unknown ${what} came from here. Check what is sent, and try again in 1 s.`,
    {
      headers: {
        'retry-after': '1',
        'ratelimit-policy': `"source";q=${capacity};w=${capacity / perSecond}`,
        ratelimit: '"source";r=0;t=1',
      },
    },
  );
}
