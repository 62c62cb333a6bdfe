import { type Family, BITS } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';

/**
 * The set of source blocks that some rule of a family names. Most packets of a flood come from other blocks, and skip
 * the lookup of their source in the rules of the destination.
 *
 * Keys have two bytes, so the kernel uses a bitmap set: 16 KiB, which stay in the CPU cache. A lookup in the rules of
 * ten thousand addresses costs two cache misses instead. The bitmap set also has a list that it walks for each added
 * element. So keys are blocks of eight values; to fill the set takes 0.25 s at most.
 */
const FIELD_BITS = 16;
const KEY_BITS = 13;
/** The bit offset of the field in an address. IPv6 sources of one region share their first bits. */
const STARTS_AT: Readonly<Record<Family, number>> = { 4: 0, 6: 32 };
/** A network whose keys differ in more bits than this is not added. */
const MAX_KEY_BITS = 8;
const UNUSED_BITS = FIELD_BITS - KEY_BITS;
const ALL_KEYS = (1n << BigInt(KEY_BITS)) - 1n;
/** The number of address bits after the key. */
const BITS_AFTER_KEY: Readonly<Record<Family, bigint>> = {
  4: BigInt(BITS[4] - STARTS_AT[4] - KEY_BITS),
  6: BigInt(BITS[6] - STARTS_AT[6] - KEY_BITS),
};
const MASK = ((1 << KEY_BITS) - 1) << UNUSED_BITS;
/** The offset of that source field in both headers. */
const FIELD = `@nh,96,${FIELD_BITS}`;

export const NAMED_SOURCES: Readonly<Record<Family, string>> = { 4: 'sources4', 6: 'sources6' };

/** The key type of the set. */
export const SOURCE_FIELD = `typeof ${FIELD}`;

/** Matches packets of sources that no rule names. */
export function unnamedSource(family: Family): string {
  return `${FIELD} & 0x${MASK.toString(16)} != @${NAMED_SOURCES[family]}`;
}

/** Whether the set contains networks of this length. */
export function isNamed(family: Family, length: number): boolean {
  return length >= STARTS_AT[family] + KEY_BITS - MAX_KEY_BITS;
}

/** The keys of the addresses of a network; empty if there are too many. */
export function sourceKeys({ family, value, length }: Cidr): number[] {
  if (!isNamed(family, length)) return [];
  const end = STARTS_AT[family] + KEY_BITS;
  const first = Number((value >> BITS_AFTER_KEY[family]) & ALL_KEYS);
  const keys = [first << UNUSED_BITS];
  for (let at = 1; at < 2 ** (end - length); at++) keys.push((first + at) << UNUSED_BITS);
  return keys;
}
