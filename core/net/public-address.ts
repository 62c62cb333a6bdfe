import { type Address, parseAddress } from './address.ts';
import { type Cidr, containsAddress, parseCidr } from './cidr.ts';

/**
 * What is not globally reachable: https://www.iana.org/assignments/iana-ipv4-special-registry and
 * https://www.iana.org/assignments/iana-ipv6-special-registry. Of IPv6 only 2000::/3 is assigned.
 */
const SPECIAL_PURPOSE = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
);
const UNICAST = networks('0.0.0.0/0', '2000::/3');

/** Whether an address is of the public internet: neither private, loopback, link-local, nor tunnelled IPv4. */
export function isPublicAddress(address: Address): boolean {
  return within(UNICAST, address) && !within(SPECIAL_PURPOSE, address);
}

/** Whether software may connect to an address that a customer chose: a public one, or within `allowed`. */
export function mayConnect(text: string, allowed: readonly Cidr[]): boolean {
  const address = parseAddress(text);
  return address.ok && (isPublicAddress(address.value) || within(allowed, address.value));
}

function within(cidrs: readonly Cidr[], address: Address): boolean {
  return cidrs.some((cidr) => containsAddress(cidr, address));
}

function networks(...texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => {
    const parsed = parseCidr(text);
    return parsed.ok ? [parsed.value] : [];
  });
}

/** Whether the host of a URL is this machine itself, which nobody else can reach: `localhost`, `127.0.0.1`, `[::1]`. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}
