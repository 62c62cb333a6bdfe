import { existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { canonicalAddress } from '@portcullis/core/net/address.ts';

/** The network of this host, for the fleet of a first start. */
export interface HostNetwork {
  /** Devices that receive packets from outside. */
  readonly devices: readonly string[];
  /** Canonical addresses of these devices, without loopback and link-local ones. */
  readonly addresses: readonly string[];
}

/** Used if the host has no address: RFC 5737 documentation space, so that the first call of a user works. */
export const EXAMPLE_ADDRESS = '203.0.113.10';

/**
 * Hardware devices and devices of a default route (bonds, VLANs). If there are none, as in a bare network namespace,
 * every device but loopback.
 */
export function readHostNetwork(): HostNetwork {
  const interfaces = networkInterfaces();
  const present = Object.keys(interfaces).filter(
    (name) => interfaces[name]?.some((one) => !one.internal) ?? false,
  );
  const routed = defaultRouteDevices();
  const external = present.filter((name) => isHardware(name) || routed.has(name));
  const devices = external.length > 0 ? external : present;
  const addresses = devices
    .flatMap((name) => interfaces[name] ?? [])
    .filter(({ address, internal }) => !internal && !isLinkLocal(address))
    .map(({ address }) => canonicalAddress(address))
    .filter((address) => address !== null);
  return { devices, addresses: [...new Set(addresses)] };
}

function isHardware(device: string): boolean {
  return existsSync(`/sys/class/net/${device}/device`);
}

function isLinkLocal(address: string): boolean {
  return /^(?:169\.254\.|fe[89ab])/i.test(address);
}

/** proc(5): the IPv4 table has the device first and the destination second; IPv6 has the device last. */
function defaultRouteDevices(): Set<string> {
  const v4 = lines('/proc/net/route')
    .filter((fields) => fields[1] === '00000000')
    .map((fields) => fields[0]);
  const v6 = lines('/proc/net/ipv6_route')
    .filter((fields) => fields[0] === '0'.repeat(32) && fields[1] === '00')
    .map((fields) => fields.at(-1));
  return new Set([...v4, ...v6].filter((name) => name !== undefined && name !== 'lo') as string[]);
}

function lines(path: string): string[][] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8').trim();
  return text.split('\n').map((line) => line.trim().split(/\s+/));
}
