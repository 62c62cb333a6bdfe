import { canonicalAddress } from '@portcullis/core/net/address.ts';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Who calls, canonically: a socket that listens on both families shows IPv4 callers as mapped addresses,
 * and link-local ones with a zone. Null for what is no address, such as a forwarded header gone wrong.
 */
export function clientAddress(ip: string | undefined): string | null {
  if (ip === undefined) return null;
  if (last?.ip !== ip) last = { ip, address: canonical(ip) };
  return last.address;
}

/** A request asks several times, and requests of one connection come from one address. */
let last: { readonly ip: string; readonly address: string | null } | null = null;

function canonical(ip: string): string | null {
  const plain = MAPPED.exec(ip)?.[1] ?? ip.split('%', 1)[0] ?? ip;
  return canonicalAddress(plain);
}
