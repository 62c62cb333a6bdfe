import fc from 'fast-check';
import { type Address, BITS, type Family } from '../address.ts';
import { type Cidr, networkOf } from '../cidr.ts';

export const anyFamily = fc.constantFrom<Family>(4, 6);

/** Addresses of a family with frequent boundary values; no IPv4-mapped one, which has no canonical text. */
export function anyAddress(family: Family): fc.Arbitrary<Address> {
  const max = (1n << BigInt(BITS[family])) - 1n;
  const groups = fc
    .array(fc.constantFrom(0, 0, 0, 1, 0xff, 0xffff), { minLength: 8, maxLength: 8 })
    .map((parts) => parts.reduce((value, part) => (value << 16n) | BigInt(part), 0n) & max);
  return fc
    .oneof(fc.bigInt({ min: 0n, max }), groups, fc.constantFrom(0n, 1n, max - 1n, max))
    .filter((value) => family === 4 || value >> 32n !== 0xffffn)
    .map((value) => ({ family, value }));
}

export function anyCidr(family: Family): fc.Arbitrary<Cidr> {
  return fc
    .tuple(anyAddress(family), fc.integer({ min: 0, max: BITS[family] }))
    .map(([address, length]) => networkOf(address, length))
    .filter(({ value }) => family === 4 || value >> 32n !== 0xffffn);
}
