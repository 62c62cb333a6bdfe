import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { Problem } from '../problem.ts';
import type { Caller } from './caller.ts';
import type { KeyWithOrganisation } from './key-store.ts';
import { toOrganisationView } from './organisation-store.ts';

/** An existing key, prepared once for all requests within a second. */
export interface KnownKey {
  readonly caller: Caller;
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

export function toKnownKey({ key, organisation }: KeyWithOrganisation): KnownKey {
  return {
    caller: {
      keyId: key.id,
      keyName: key.name,
      organisationId: key.organisation_id,
      organisation: toOrganisationView(organisation),
      abilities: new Set(ABILITIES.filter((ability) => key.abilities.includes(ability))),
      prefixes: key.prefixes,
      servers: key.servers,
      managedServers: key.managed_servers,
    },
    expiresAt: key.expires_at,
    revokedAt: key.revoked_at,
    suspendedAt: key.suspended_at,
    sources: key.sources && key.sources.flatMap(toCidr),
  };
}

/** The caller, if the key may be used now from this source; throws `unauthenticated`. */
export function admit(known: KnownKey | null, source: string, now: Date): Caller {
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
  return known.caller;
}

export function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
}

function isInside(sources: readonly Cidr[], text: string): boolean {
  const address = parseAddress(text);
  return address.ok && sources.some((source) => containsAddress(source, address.value));
}

/** The database holds valid CIDRs; an invalid one would allow nothing. */
function toCidr(text: string): Cidr[] {
  const parsed = parseCidr(text);
  return parsed.ok ? [parsed.value] : [];
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
