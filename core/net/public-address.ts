import { type Address, BITS, parseAddress } from './address.ts';
import { type Cidr, cidrOfAddress, containsAddress, containsCidr, parseCidr } from './cidr.ts';

/**
 * The networks that are no destination of the public internet, by which the guard of games and webhooks are closed. In
 * them stand the operator's own services and those of clouds, which trust whoever reaches them.
 *
 * From https://www.iana.org/assignments/iana-ipv4-special-registry and
 * https://www.iana.org/assignments/iana-ipv6-special-registry, which are closed whole where a part is not globally
 * reachable. Of IPv6 only 2000::/3 is assigned, so what is outside of it is closed in three networks: mapped, compatible
 * and translated IPv4 (`::ffff:0:0/96`, `::/96`, `64:ff9b::/96`, `64:ff9b:1::/48`), unique local, link-local, site-local
 * and multicast addresses.
 */
const SPECIAL_PURPOSE = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by providers; 100.100.100.200 has credentials of Alibaba Cloud
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local; 169.254.169.254 and others have credentials of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; 192.0.0.192 has credentials of Oracle Cloud
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/3', // multicast, reserved, broadcast
  '::/3', // loopback, and IPv4 in other forms
  '2001::/23', // protocol assignments, such as Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
  '4000::/2', // not assigned
  '8000::/1', // not assigned, unique local (fd00:ec2::254 of AWS), link-local, multicast
] as const;

/**
 * Addresses that are not special in any registry, and at which a cloud serves its machines: Azure's WireServer, which
 * hands out their keys (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
 */
const CLOUDS = ['168.63.129.16/32'] as const;

/** Networks that are not public, as texts of CIDRs. */
export const NOT_PUBLIC: readonly string[] = [...SPECIAL_PURPOSE, ...CLOUDS];

/** The first 96 bits of `64:ff9b::/96`. */
const NAT64 = 0x0064_ff9b_0000_0000_0000_0000n;
const CLOSED = NOT_PUBLIC.map(cidrOf);
/** IPv6 addresses that carry an IPv4 address of `CLOSED`. */
const TRANSLATED = CLOSED.flatMap(translationsOf);
const LOOPBACK = ['127.0.0.0/8', '::1/128'].map(cidrOf);
/** A connection to them goes to loopback. */
const UNSPECIFIED = ['0.0.0.0/8', '::/128'].map(cidrOf);

/** Whether an address is of the public internet: neither special by a registry, nor where a cloud serves machines. */
export function isPublicAddress(address: Address): boolean {
  return !within(CLOSED, address);
}

export interface Reach {
  /** Networks that the operator opened although they are not public. */
  readonly opened: readonly Cidr[];
  /** Networks that are not reached, whatever they are. */
  readonly closed?: readonly Cidr[];
  /**
   * Addresses of this host itself beside loopback. They are not reached, whatever they are: networks open them only if
   * they mean this host, as a single address or loopback does.
   */
  readonly own?: readonly Address[];
}

/**
 * Whether software may connect to an address that a customer chose. A network that carries IPv4 (NAT64, 6to4) may be
 * opened; it leads to public IPv4 addresses only.
 */
export function mayReach(address: Address, { opened, closed = [], own = [] }: Reach): boolean {
  if (within(TRANSLATED, address)) return false;
  if (within([...closed, ...closed.flatMap(translationsOf)], address)) return false;
  if (!isPublicAddress(address) && !within(opened, address)) return false;
  const ownNetworks = [...LOOPBACK, ...UNSPECIFIED, ...own.map(cidrOfAddress)];
  const isOwn = within([...ownNetworks, ...ownNetworks.flatMap(translationsOf)], address);
  return !isOwn || within(opened.filter(isOfHost), address);
}

/** Whether a text is an address, in its one spelling, that software may connect to. */
export function mayConnect(text: string, opened: readonly Cidr[]): boolean {
  const address = parseAddress(text);
  return address.ok && mayReach(address.value, { opened });
}

/** The networks of IPv6 that carry a network of IPv4: those of NAT64 (RFC 6052) and 6to4 (RFC 3056). None of IPv6. */
export function translationsOf({ family, value, length }: Cidr): Cidr[] {
  if (family === 6) return [];
  return [
    { family: 6, value: (NAT64 << 32n) | value, length: 96 + length },
    { family: 6, value: (0x2002n << 112n) | (value << 80n), length: 16 + length },
  ];
}

function isOfHost(cidr: Cidr): boolean {
  const isSingle = cidr.length === BITS[cidr.family];
  return isSingle || LOOPBACK.some((outer) => containsCidr(outer, cidr));
}

function cidrOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.reason}`);
  return parsed.value;
}

function within(cidrs: readonly Cidr[], address: Address): boolean {
  return cidrs.some((cidr) => containsAddress(cidr, address));
}

/** Whether the host of a URL is this machine itself, which nobody else can reach: `localhost`, `127.0.0.1`, `[::1]`. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}
