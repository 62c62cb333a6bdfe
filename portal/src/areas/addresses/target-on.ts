import { parseAddress } from '@portcullis/core/net/address.ts';
import { cidrOfAddress, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';

/** Through which of its targets something applies to an address: itself or the longest prefix; null: through none. */
export function targetOn(ip: string, targets: readonly string[]): string | null {
  const address = parseAddress(ip);
  if (!address.ok) return null;
  const own = cidrOfAddress(address.value);
  const around = targets.flatMap((target) => {
    const cidr = parseCidr(target);
    return cidr.ok && containsCidr(cidr.value, own) ? [{ target, length: cidr.value.length }] : [];
  });
  return around.toSorted((a, b) => b.length - a.length)[0]?.target ?? null;
}
