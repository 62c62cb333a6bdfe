import type { HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import { countOf } from '@portcullis/core/count.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';

/** `prefix 203.0.113.0/24 under AS64500 (acme)`. */
export function describeHolding({ organisation, prefix, service, asn }: HoldingObject): string {
  const of = service === null ? (asn === null ? '' : ` under AS${asn}`) : ` of service ${service}`;
  const shown = showCidr(prefix);
  return `${shown.includes('/') ? 'prefix' : 'address'} ${shown}${of} (${organisation})`;
}

export function describeOrphans(
  { prefix, organisation }: Pick<HoldingObject, 'prefix' | 'organisation'>,
  liveObjects: number,
): string {
  return `${showCidr(prefix)} of ${organisation} has ${countOf(liveObjects, 'live firewall object')}, which would no longer be enforced.`;
}

/** The network for people: a single address without its length. */
export function showCidr(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}
