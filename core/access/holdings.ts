import type { Address } from '../net/address.ts';
import { type Cidr, containsAddress } from '../net/cidr.ts';

/** A prefix or an address that an organisation holds for a time. */
export interface Held {
  readonly organisation: number;
  readonly cidr: Cidr;
  /** Milliseconds since the epoch, from `since` until before `until`. */
  readonly since: number;
  readonly until: number | null;
}

/**
 * The holding of an address at a time: the most specific one that contains it. Equal holdings never overlap in time, so
 * there is at most one of each length. The database answers the same question with an index and is tested against this.
 */
export function holderOf<H extends Held>(
  holdings: readonly H[],
  address: Address,
  at: number,
): H | null {
  let best: H | null = null;
  for (const holding of holdings) {
    if (holding.since > at || (holding.until !== null && holding.until <= at)) continue;
    if (!containsAddress(holding.cidr, address)) continue;
    if (best === null || holding.cidr.length > best.cidr.length) best = holding;
  }
  return best;
}
