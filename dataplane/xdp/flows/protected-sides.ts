import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, networkOf } from '@portcullis/core/net/cidr.ts';
import type { Flow } from './places.ts';

/** Targets by name: an address or a prefix, canonical. */
type Named = ReadonlyMap<string, unknown>;

/**
 * Which flows have a side that some of these targets judge: of the others nothing is dropped, so they need not be
 * remembered. Connection tracking is full of the opposite, of clients and what they opened here.
 */
export function protectedSides(...targets: readonly Named[]): (flow: Flow) => boolean {
  const lengths: Record<Family, Set<number>> = { 4: new Set(), 6: new Set() };
  for (const names of targets) {
    for (const name of names.keys()) {
      const slash = name.indexOf('/');
      if (slash < 0) continue;
      lengths[name.includes(':') ? 6 : 4].add(Number(name.slice(slash + 1)));
    }
  }
  return ({ family, local }) => {
    const value = BigInt(`0x${local.toString('hex')}`);
    const named = (name: string): boolean => targets.some((names) => names.has(name));
    if (named(formatAddress({ family, value }))) return true;
    return [...lengths[family]].some((length) =>
      named(formatCidr(networkOf({ family, value }, Math.min(length, BITS[family])))),
    );
  };
}
