import type { HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import { countOf } from '@portcullis/core/count.ts';
import { showCidr } from '../forms.ts';

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
