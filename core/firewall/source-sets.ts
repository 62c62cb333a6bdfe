import { parseAddress } from '../net/address.ts';
import { type Cidr, cidrOfAddress, compareCidrs, containsCidr, parseCidr } from '../net/cidr.ts';
import type { SourceSets } from './policy.ts';

/** Whether any of the named sets contains the address. Unknown names are empty sets. */
export function anySetHas(data: SourceSets, names: readonly string[], address: string): boolean {
  const parsed = parseAddress(address);
  if (!parsed.ok) return false;
  const single = cidrOfAddress(parsed.value);
  return names.some(
    (name) => Object.hasOwn(data.sets, name) && sortedHas(data.sets[name] ?? [], single),
  );
}

/** Networks are sorted and without overlaps, so only the last that does not begin after the address can have it. */
function sortedHas(networks: readonly string[], address: Cidr): boolean {
  let low = 0;
  let high = networks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareCidrs(networkAt(networks, middle), address) <= 0) low = middle + 1;
    else high = middle;
  }
  return low > 0 && containsCidr(networkAt(networks, low - 1), address);
}

function networkAt(networks: readonly string[], index: number): Cidr {
  const text = networks[index] ?? '';
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new Error(`a source set holds ${text}: ${cidr.reason}`);
  return cidr.value;
}
