import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { takesVlanTags } from '../../kernel/ethtool.ts';
import { linkNames } from '../../kernel/netlink/links.ts';
import { libc } from '../../kernel/native.ts';
import type { XdpMode } from '@portcullis/core/firewall/edge-state.ts';

/** The properties of a device that decide whether packets may be dropped on it. */
export interface Device {
  readonly name: string;
  readonly ifindex: number;
  /** Devices on top of this one, which receive its packets. Tunnels are left out (`isTunnel`). */
  readonly uppers: readonly Upper[];
  /** A port of a bridge or bond: its packets enter by the master. */
  readonly isPort: boolean;
  /** The card removes VLAN tags before the program sees them. */
  readonly hidesTags: boolean;
  /** Packets have Ethernet headers. Those of tunnels have none. */
  readonly isEthernet: boolean;
}
export interface Upper {
  readonly name: string;
  /** Null unless the upper device is a VLAN with one tag. */
  readonly vlan: number | null;
}

/** All devices of this network namespace except the loopback. */
export function listDevices(): string[] {
  return linkNames().filter((name) => name !== 'lo');
}

let indexOf: ((name: string) => number) | null = null;
let nameOf: ((index: number, name: Uint8Array) => unknown) | null = null;
const NAME_BYTES = 16;

/** Returns the current name of a device, or null if it is gone. */
export function deviceName(ifindex: number): string | null {
  nameOf ??= libc().func('void *if_indextoname(unsigned int index, _Out_ uint8_t *name)');
  const name = Buffer.alloc(NAME_BYTES);
  if (nameOf(ifindex, name) === null) return null;
  return name.toString('utf8', 0, name.indexOf(0));
}

/** Returns null if there is no such device. */
export function readDevice(name: string): Device | null {
  indexOf ??= libc().func('unsigned int if_nametoindex(const char *name)');
  const ifindex = indexOf(name);
  if (ifindex === 0) return null;
  const folder = `/sys/class/net/${name}`;
  const entries = existsSync(folder) ? readdirSync(folder) : [];
  const { uppers, isPort } = shapeOf(entries, vlanOf, isTunnel);
  const isEthernet = readType(folder) === ARPHRD_ETHER;
  return { name, ifindex, uppers, isPort, hidesTags: takesVlanTags(name), isEthernet };
}

/**
 * Parses the entries of the device's folder in /sys/class/net. Devices of other network namespaces have no folder.
 * Pure.
 */
export function shapeOf(
  entries: readonly string[],
  vlan: (upper: string) => number | null,
  isTunnel: (upper: string) => boolean,
): Pick<Device, 'uppers' | 'isPort'> {
  const uppers = entries
    .filter((entry) => entry.startsWith('upper_'))
    .map((entry) => entry.slice('upper_'.length))
    .filter((upper) => !isTunnel(upper))
    .map((upper) => ({ name: upper, vlan: vlan(upper) }));
  const isPort = ['brport', 'bonding_slave'].some((entry) => entries.includes(entry));
  return { uppers, isPort };
}

// include/uapi/linux/if_arp.h
const ARPHRD_ETHER = 1;

function readType(folder: string): number | null {
  try {
    return Number(readFileSync(`${folder}/type`, 'utf8'));
  } catch {
    return null;
  }
}

/** Types of tunnels on top of a device, as in /sys. */
const TUNNEL_TYPES = /^DEVTYPE=(?:vxlan|macsec)$/m;

/** Packets of a tunnel enter encapsulated by the lower device, and are evaluated there. */
function isTunnel(name: string): boolean {
  try {
    return TUNNEL_TYPES.test(readFileSync(`/sys/class/net/${name}/uevent`, 'utf8'));
  } catch {
    return false;
  }
}

function vlanOf(name: string): number | null {
  try {
    return parseVlan(readFileSync(`/proc/net/vlan/${name}`, 'utf8'));
  } catch {
    return null;
  }
}

/** Parses the VLAN tag from a file in /proc/net/vlan. Pure. */
export function parseVlan(text: string): number | null {
  const tag = /VID: (\d+)/.exec(text)?.[1];
  return tag === undefined ? null : Number(tag);
}

/**
 * Selects the devices where each outgoing packet is seen exactly once: packets of a port also leave by its master,
 * and packets of a VLAN by its lower device. Pure.
 */
export function egressDevices(devices: readonly Device[]): number[] {
  const seen = devices.filter(({ isPort, isEthernet }) => !isPort && isEthernet);
  const uppers = new Set(
    seen.flatMap(({ uppers }) => uppers.flatMap(({ name, vlan }) => (vlan === null ? [] : name))),
  );
  return seen
    .filter(({ name }) => !uppers.has(name))
    .map(({ ifindex }) => ifindex)
    .toSorted((a, b) => a - b);
}

/** How a device is used. */
export type DevicePlan =
  | { readonly attach: true; readonly vlans: readonly number[] }
  | { readonly attach: false; readonly reason: string };

/**
 * A program also sees the packets of upper devices, and may drop only what nftables evaluates behind a named device.
 * Pure.
 */
export function planDevice(device: Device, named: ReadonlySet<string>): DevicePlan {
  const { uppers, isPort, hidesTags, isEthernet } = device;
  if (!isEthernet) return { attach: false, reason: 'its packets have no Ethernet header' };
  if (isPort) return { attach: false, reason: 'nothing enters by a port of a bridge or bond' };
  const otherUpper = uppers.find(({ name, vlan }) => vlan === null && !named.has(name));
  if (otherUpper !== undefined) {
    return { attach: false, reason: `${otherUpper.name} is on top of it and is not protected` };
  }
  const unprotected = uppers.find(({ name }) => !named.has(name));
  if (unprotected !== undefined && hidesTags) {
    return {
      attach: false,
      reason: `the card removes the tags of packets for ${unprotected.name}, which is not protected: ethtool -K ${device.name} rxvlan off`,
    };
  }
  const vlans = uppers.flatMap(({ name, vlan }) => (vlan !== null && named.has(name) ? vlan : []));
  return { attach: true, vlans };
}

/**
 * Returns the named lower device whose program already evaluates the packets of this one, tags included. A second
 * program would evaluate and count them again. Pure.
 */
export function lowerDeviceWithProgram(
  name: string,
  seen: ReadonlyMap<string, Device | null>,
  named: ReadonlySet<string>,
): Device | null {
  for (const below of seen.values()) {
    if (below === null || below.name === name) continue;
    if (!below.uppers.some((upper) => upper.name === name)) continue;
    if (planDevice(below, named).attach) return below;
  }
  return null;
}

/** Notifications may be lost, and a card's settings change without any. */
const CHECK_MS = 30_000;

/**
 * Decides when devices are checked, which reads files of /sys for each device: always if changes are not reported,
 * and otherwise after a reported change and every 30 seconds.
 */
export class DeviceCheckTimer {
  #isFollowed = false;
  #hasChanged = true;
  #checkedMs = -Infinity;

  /** From now on `markChanged` reports changes. */
  follow(): void {
    this.#isFollowed = true;
    this.#hasChanged = true;
  }

  markChanged(): void {
    this.#hasChanged = true;
  }

  get isDue(): boolean {
    if (!this.#isFollowed || this.#hasChanged) return true;
    return performance.now() - this.#checkedMs > CHECK_MS;
  }

  /** Call it before the first device is read, so that a change during the check causes another one. */
  start(): void {
    this.#hasChanged = false;
    this.#checkedMs = performance.now();
  }
}

/** How the early drop is attached to each device. */
export interface DeviceModes {
  modeOf(device: string): DeviceMode;
}
export interface DeviceMode {
  readonly xdp: XdpMode;
  /** Why the mode is not native, or null. */
  readonly reason: string | null;
}
