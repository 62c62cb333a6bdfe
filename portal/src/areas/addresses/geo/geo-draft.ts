import type { GeoRule, GeoRuleInput } from '@portcullis/client/index.ts';
import { geoMessages } from '../../../messages/geo.ts';
import { nameOf } from './country-names.ts';

const text = geoMessages;
const MAX_ASN = 4_294_967_295;
const MAX_NAMED = 4;

/** The values of the form; ASNs as typed. */
export interface GeoDraft {
  readonly action: 'deny' | 'only';
  readonly countries: readonly string[];
  readonly asns: readonly string[];
  readonly targets: readonly string[];
}

export function newGeoDraft(ip: string): GeoDraft {
  return { action: 'deny', countries: [], asns: [], targets: [ip] };
}

export function geoDraftOf({ action, countries, asns, targets }: GeoRule): GeoDraft {
  return { action, countries, asns: asns.map(String), targets };
}

/** Why the draft cannot be sent; null when it can. */
export function findGeoMistake({ countries, asns }: GeoDraft): string | null {
  const wrong = asns.find((typed) => asnOf(typed) === null);
  if (wrong !== undefined) return text.notAnAsn(wrong);
  return countries.length + asns.length === 0 ? text.nothing : null;
}

/** `AS64496` and `64496` are the same network. */
function asnOf(typed: string): number | null {
  const digits = /^(?:as)?([1-9]\d{0,9})$/i.exec(typed.trim())?.[1];
  return digits !== undefined && Number(digits) <= MAX_ASN ? Number(digits) : null;
}

export function inputOfGeo({ asns, ...draft }: GeoDraft): GeoRuleInput {
  return { ...draft, asns: [...new Set(asns.flatMap((typed) => asnOf(typed) ?? []))] };
}

/** The first few of what a geo rule names, and how many more. */
export function describeGeo({ countries, asns }: Pick<GeoRule, 'countries' | 'asns'>): string {
  const all = [...countries.map(nameOf), ...asns.map(text.asn)];
  const more = all.length - MAX_NAMED;
  const shown = all.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${shown} ${text.more(more)}` : shown;
}
