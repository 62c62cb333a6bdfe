import type { Family } from '../../net/address.ts';
import { formatNetwork, parseCidr } from '../../net/cidr.ts';
import { failed, type Parsed, parsed } from '../../net/parsed.ts';

/** Shortest prefix lengths of a safelist: wider networks would exempt nearly all sources from mitigation. */
const WIDEST: Readonly<Record<Family, number>> = { 4: 8, 6: 16 };

/** An entry of a safelist, a single address without its length, as in policies. */
export function parseSafelistEntry(text: string): Parsed<string> {
  const cidr = parseCidr(text);
  if (!cidr.ok) return failed(`"${text}" is no network: ${cidr.reason}`);
  if (cidr.value.length >= WIDEST[cidr.value.family]) return parsed(formatNetwork(cidr.value));
  return failed(
    `${text} would keep nearly everybody from being mitigated; a safelist names networks of at most /${WIDEST[4]} (IPv4) or /${WIDEST[6]} (IPv6). To do nothing, turn mitigation off`,
  );
}
