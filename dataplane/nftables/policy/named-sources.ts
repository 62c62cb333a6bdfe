import { type Family, BITS } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/**
 * Where sources come from that some rule of a family names, coarsely: most of a flood comes from elsewhere, and is
 * told apart here without looking for its source among the rules of its destination.
 *
 * Keys are of two bytes, so the kernel keeps the set as a bitmap: 16 KiB that stay in a cache, where a look-up among
 * the rules of ten thousand addresses is two places in memory that do not. It keeps a list of them beside, which it
 * walks for each that is added: so not all 65,536 are told apart, but blocks of eight, and filling it takes a quarter
 * of a second at most.
 */
const FIELD_BITS = 16;
const KEY_BITS = 13;
/** Of an address, where the field begins: IPv6 sources of one region all begin alike. */
const STARTS_AT: Readonly<Record<Family, number>> = { 4: 0, 6: 32 };
/** A network of more keys than so many bits can number leaves the set out. */
const MAX_KEY_BITS = 8;
const UNUSED_BITS = FIELD_BITS - KEY_BITS;
const ALL_KEYS = (1n << BigInt(KEY_BITS)) - 1n;
/** Bits of an address behind its key. */
const BEHIND_KEY: Readonly<Record<Family, bigint>> = {
  4: BigInt(BITS[4] - STARTS_AT[4] - KEY_BITS),
  6: BigInt(BITS[6] - STARTS_AT[6] - KEY_BITS),
};
const MASK = ((1 << KEY_BITS) - 1) << UNUSED_BITS;
/** In both headers, that bit of the source stands here. */
const FIELD = `@nh,96,${FIELD_BITS}`;

export const NAMED_SOURCES: Readonly<Record<Family, string>> = { 4: 'sources4', 6: 'sources6' };

/** What the set is declared by. */
export const SOURCE_FIELD = `typeof ${FIELD}`;

/** A match for packets from where no rule names a source. */
export function unnamedSource(family: Family): string {
  return `${FIELD} & 0x${MASK.toString(16)} != @${NAMED_SOURCES[family]}`;
}

/** Whether networks of this length are in the set. */
export function isNamed(family: Family, length: number): boolean {
  return length >= STARTS_AT[family] + KEY_BITS - MAX_KEY_BITS;
}

/** The keys that addresses of the network have; none where there are too many. */
export function sourceKeys({ family, value, length }: Cidr): number[] {
  if (!isNamed(family, length)) return [];
  const end = STARTS_AT[family] + KEY_BITS;
  const first = Number((value >> BEHIND_KEY[family]) & ALL_KEYS);
  const keys = [first << UNUSED_BITS];
  for (let at = 1; at < 2 ** (end - length); at++) keys.push((first + at) << UNUSED_BITS);
  return keys;
}
