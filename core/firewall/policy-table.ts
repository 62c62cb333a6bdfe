import { BITS, type Family, parseAddress } from '../net/address.ts';
import { networkOf, parseCidr } from '../net/cidr.ts';
import type { Policy } from './policy.ts';

export interface PolicyTable {
  /** The policy for packets to an address: its own, or that of the longest prefix with one. */
  lookup(address: string): Policy | null;
}

/** One hash look-up for each prefix length in use, the longest first. */
export function createPolicyTable(policies: Iterable<Policy>): PolicyTable {
  const byLength: Record<Family, Map<number, Map<bigint, Policy>>> = { 4: new Map(), 6: new Map() };
  for (const policy of policies) {
    const target = parseCidr(policy.target);
    if (!target.ok) throw new Error(`${policy.target} is no target of a policy: ${target.reason}`);
    const { family, length, value } = target.value;
    const networks = byLength[family].get(length) ?? new Map<bigint, Policy>();
    byLength[family].set(length, networks.set(value, policy));
  }
  const lengths: Record<Family, readonly number[]> = {
    4: [...byLength[4].keys()].toSorted((a, b) => b - a),
    6: [...byLength[6].keys()].toSorted((a, b) => b - a),
  };
  return {
    lookup(text) {
      const address = parseAddress(text);
      if (!address.ok) return null;
      const { family } = address.value;
      for (const length of lengths[family]) {
        const network = length === BITS[family] ? address.value : networkOf(address.value, length);
        const policy = byLength[family].get(length)?.get(network.value);
        if (policy !== undefined) return policy;
      }
      return null;
    },
  };
}
