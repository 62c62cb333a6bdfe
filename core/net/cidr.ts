import { type Address, BITS, type Family, formatAddress, parseAddress } from './address.ts';
import { failed, type Parsed, parsed } from './parsed.ts';

/** A network: `value` has no bits set beyond `length`. */
export interface Cidr {
  readonly family: Family;
  readonly value: bigint;
  readonly length: number;
}

/**
 *     cidr   = address [ "/" length ]      without a length: the single address
 *     length = 0-32 or 0-128, no leading zeros
 *
 * Bits set beyond the length are refused, naming the network that was probably meant: a silent
 * correction would make a rule wider than what its author read.
 */
export function parseCidr(text: string): Parsed<Cidr> {
  const slash = text.indexOf('/');
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (!address.ok) return address;
  const { family, value } = address.value;
  if (slash < 0) return parsed({ family, value, length: BITS[family] });
  const suffix = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(suffix) || Number(suffix) > BITS[family]) {
    return failed(`a prefix length of IPv${family} is a number from 0 to ${BITS[family]}`);
  }
  const length = Number(suffix);
  const network = networkOf(address.value, length);
  if (network.value !== value) {
    return failed(`${text} has host bits set; ${formatCidr(network)} is probably meant`);
  }
  return parsed(network);
}

/** The network of the given length that contains an address. */
export function networkOf(address: Address, length: number): Cidr {
  const host = BigInt(BITS[address.family] - length);
  return { family: address.family, value: (address.value >> host) << host, length };
}

export function cidrOfAddress(address: Address): Cidr {
  return { family: address.family, value: address.value, length: BITS[address.family] };
}

/** Always with its length: `203.0.113.10/32`. */
export function formatCidr(cidr: Cidr): string {
  return `${formatAddress(cidr)}/${cidr.length}`;
}

/** The form for sources and targets: a single address without its length. */
export function formatNetwork(cidr: Cidr): string {
  return cidr.length === BITS[cidr.family] ? formatAddress(cidr) : formatCidr(cidr);
}

export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.length <= inner.length && containsAddress(outer, inner);
}

export function containsAddress(cidr: Cidr, address: Address): boolean {
  if (cidr.family !== address.family) return false;
  const host = BigInt(BITS[cidr.family] - cidr.length);
  return cidr.value >> host === address.value >> host;
}

/** Two networks overlap only when one contains the other. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.length <= b.length ? containsCidr(a, b) : containsCidr(b, a);
}

/** `0.0.0.0/0` or `::/0`. */
export function wholeFamily(cidr: Cidr): boolean {
  return cidr.length === 0;
}

export function lastValue(cidr: Cidr): bigint {
  return cidr.value | ((1n << BigInt(BITS[cidr.family] - cidr.length)) - 1n);
}

/** Ordered by family, then by start, then the wider first. */
export function compareCidrs(a: Cidr, b: Cidr): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.value !== b.value) return a.value < b.value ? -1 : 1;
  return a.length - b.length;
}
