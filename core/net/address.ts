import { failed, type Parsed, parsed } from './parsed.ts';

export type Family = 4 | 6;

/** An IP address as a number of its family: 32 or 128 bits. */
export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/** Bits of an address of each family. */
export const BITS: Readonly<Record<Family, number>> = { 4: 32, 6: 128 };

/** The longest text of an address: eight groups, or six groups and a dotted quad. */
const MAX_TEXT = 45;

/**
 * Strict: one spelling of IPv4, the spellings of RFC 4291 section 2.2 for IPv6.
 *
 *     ipv4  = octet "." octet "." octet "." octet      octet: 0-255, no leading zeros
 *     ipv6  = groups of 1-4 hex digits, "::" once, a dotted quad as the last 32 bits
 *
 * No zone, no brackets, no white space. IPv4-mapped IPv6 (`::ffff:0:0/96`) is refused: it is an
 * IPv4 address in another coat, and two names for one address are a way past a rule.
 */
export function parseAddress(text: string): Parsed<Address> {
  if (text.length === 0) return failed('an address is missing');
  if (text.length > MAX_TEXT) return failed('too long to be an IP address');
  if (!text.includes(':')) return parseIpv4(text);
  if (text.includes('%'))
    return failed('an address here has no zone: leave out "%" and what follows');
  const value = parseIpv6(text);
  if (value === null) return failed(`"${printable(text)}" is not an IPv6 address`);
  if (value >> 32n === 0xffffn) {
    return failed(
      `write the IPv4 address ${formatIpv4(value & 0xffffffffn)} instead of its IPv4-mapped form`,
    );
  }
  return parsed({ family: 6, value });
}

/** RFC 5952: lower case, the longest run of zero groups (the first of equals, two at least) as "::". */
export function formatAddress(address: Address): string {
  return address.family === 4 ? formatIpv4(address.value) : formatIpv6(address.value);
}

/** The one spelling of an address, or null when the text is none. */
export function canonicalAddress(text: string): string | null {
  const address = parseAddress(text);
  return address.ok ? formatAddress(address.value) : null;
}

function parseIpv4(text: string): Parsed<Address> {
  const value = readIpv4(text);
  return value === null ? refuseIpv4(text) : parsed({ family: 4, value: BigInt(value) });
}

/** Reads an address by character: policies of thousands of addresses are mostly these. Null: it is none. */
function readIpv4(text: string): number | null {
  let value = 0;
  let octet = 0;
  let digits = 0;
  let octets = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      if (digits === 0 || octets === 4) return null;
      value = value * 256 + octet;
      octet = 0;
      digits = 0;
      octets++;
    } else {
      const digit = code - ZERO;
      // A zero in front, a fourth digit, or no digit at all.
      if (digit < 0 || digit > 9 || (digits > 0 && octet === 0)) return null;
      octet = octet * 10 + digit;
      digits++;
      if (octet > 255) return null;
    }
  }
  return octets === 4 && digits > 0 ? value * 256 + octet : null;
}

const DOT = 46;
const ZERO = 48;

/** The reason why a text is no address. */
function refuseIpv4(text: string): Parsed<Address> {
  const octets = text.split('.');
  if (octets.length !== 4) return failed(`"${printable(text)}" is not an IP address`);
  for (const octet of octets) {
    if (!/^[0-9]{1,3}$/.test(octet) || Number(octet) > 255) {
      return failed(`"${printable(text)}" is not an IP address`);
    }
    if (octet.length > 1 && octet.startsWith('0')) break;
  }
  return failed(`"${printable(text)}" has leading zeros, which some read as octal: leave them out`);
}

function parseIpv6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0] as string, halves.length === 1);
  if (halves.length === 1) return head?.length === 8 ? join(head) : null;
  const tail = parseGroups(halves[1] as string, true);
  if (head === null || tail === null || head.length + tail.length > 7) return null;
  return join([...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]);
}

/** Groups of 16 bits; a dotted quad may stand at the end of the whole address and makes two. */
function parseGroups(text: string, last: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const quad = last && index === parts.length - 1 && part.includes('.') ? parseIpv4(part) : null;
    if (quad === null || !quad.ok) return null;
    groups.push(Number(quad.value.value >> 16n), Number(quad.value.value & 0xffffn));
  }
  return groups;
}

/** Eight groups, two at a time: arithmetic on small numbers costs far less than on big ones. */
function join(groups: readonly number[]): bigint {
  let value = 0n;
  for (let index = 0; index < 8; index += 2) {
    const word = (groups[index] ?? 0) * 0x10000 + (groups[index + 1] ?? 0);
    value = (value << 32n) | BigInt(word);
  }
  return value;
}

function formatIpv4(value: bigint): string {
  const bits = Number(value);
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}

function formatIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    Number((value >> BigInt(112 - 16 * index)) & 0xffffn),
  );
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(':');
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`;
}

/** Input is quoted in messages and logs: keep control characters out of them. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
