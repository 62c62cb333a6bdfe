import { parseAddress } from '@portcullis/core/net/address.ts';
import {
  type Cidr,
  containsAddress,
  containsCidr,
  formatCidr,
  parseCidr,
} from '@portcullis/core/net/cidr.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Caller } from './caller.ts';
import { type Holding, loadHolder, loadHoldings } from './holding-store.ts';

/** The holdings within reach of a caller: a key may be bound to a part of them. */
export type Holder = Pick<Caller, 'organisationId' | 'prefixes'>;

/**
 * The caller's holding of this address now, or null if another organisation holds it, nobody does, or the key is not
 * bound to it. All are 404 to the caller, so that nothing of other organisations is revealed.
 */
export async function findHolding(
  db: Db | Tx,
  caller: Holder,
  ip: string,
): Promise<Holding | null> {
  const address = parseAddress(ip);
  if (!address.ok) return null;
  const prefixes = boundPrefixes(caller);
  const allowed = prefixes?.some((prefix) => containsAddress(prefix, address.value)) ?? true;
  if (!allowed) return null;
  const holding = await loadHolder(db, ip);
  return holding?.organisationId === caller.organisationId ? holding : null;
}

/** The part of a holding within reach of a key. */
export interface HeldPrefix {
  readonly holding: Holding;
  /** The holding's CIDR, or the narrower ones that the key is bound to. */
  readonly cidr: string;
}

/** The caller's holdings within reach of its key; IPv4 first, then by address. */
export async function listHeldPrefixes(db: Db | Tx, caller: Holder): Promise<HeldPrefix[]> {
  const holdings = await loadHoldings(db, caller.organisationId);
  const prefixes = boundPrefixes(caller);
  return holdings.flatMap((holding) => {
    if (prefixes === null) return [{ holding, cidr: holding.cidr }];
    return toCidr(holding.cidr).flatMap((held) =>
      narrow(held, prefixes).map((cidr) => ({ holding, cidr: formatCidr(cidr) })),
    );
  });
}

/** The parts of `held` inside any of the prefixes, none of them inside another. */
function narrow(held: Cidr, prefixes: readonly Cidr[]): Cidr[] {
  if (prefixes.some((prefix) => containsCidr(prefix, held))) return [held];
  const inside = prefixes.filter((prefix) => containsCidr(held, prefix));
  return inside.filter(
    (cidr, index) => !inside.some((other, at) => at !== index && containsCidr(other, cidr)),
  );
}

function boundPrefixes(caller: Holder): Cidr[] | null {
  return caller.prefixes?.flatMap(toCidr) ?? null;
}

/** The database holds valid CIDRs; an invalid one would allow nothing. */
function toCidr(text: string): Cidr[] {
  const parsed = parseCidr(text);
  return parsed.ok ? [parsed.value] : [];
}
