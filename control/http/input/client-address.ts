import { canonicalAddress } from '@portcullis/core/net/address.ts';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The canonical client address: a dual-stack socket shows IPv4 clients as mapped addresses, and link-local ones with a
 * zone. Null for an invalid address, such as from a wrong forwarded header.
 */
export function clientAddress(ip: string | undefined): string | null {
  if (ip === undefined) return null;
  const plain = MAPPED.exec(ip)?.[1] ?? ip.split('%', 1)[0] ?? ip;
  return canonicalAddress(plain);
}
