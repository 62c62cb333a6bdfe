import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { takesVlanTags } from '../../kernel/ethtool.ts';
import { libc } from '../../kernel/native.ts';
import type { XdpMode } from '@portcullis/core/firewall/edge-state.ts';

/** What there is to know of a device before packets may be dropped on it. */
export interface Device {
  readonly name: string;
  readonly ifindex: number;
  /** Of those built upon it: where its packets go instead of to the device itself. None is a tunnel (`wraps`). */
  readonly uppers: readonly Upper[];
  /** A port of a bridge or bond: its packets enter by the master. */
  readonly isPort: boolean;
  /** Its card takes VLAN tags out of frames before a program sees them. */
  readonly hidesTags: boolean;
  /** Its packets have Ethernet headers: a tunnel's have none. */
  readonly isEthernet: boolean;
}
export interface Upper {
  readonly name: string;
  /** Null: no VLAN of one tag. */
  readonly vlan: number | null;
}

/** Every device of this host that packets may leave by, the loopback apart. */
export function listDevices(): string[] {
  try {
    return readdirSync('/sys/class/net').filter((name) => name !== 'lo');
  } catch {
    return [];
  }
}

let indexOf: ((name: string) => number) | null = null;
let nameOf: ((index: number, name: Uint8Array) => unknown) | null = null;
const NAME_BYTES = 16;

/** What the device of this index is called now; null: there is none (any more). */
export function deviceName(ifindex: number): string | null {
  nameOf ??= libc().func('void *if_indextoname(unsigned int index, _Out_ uint8_t *name)');
  const name = Buffer.alloc(NAME_BYTES);
  if (nameOf(ifindex, name) === null) return null;
  return name.toString('utf8', 0, name.indexOf(0));
}

/** Null: there is no such device (now). */
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

/** From the names in its folder of /sys/class/net; of devices in other network namespaces it has none. Pure. */
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

/** Kinds of tunnels that are built upon a device, as they are called in /sys. */
const TUNNEL_TYPES = /^DEVTYPE=(?:vxlan|macsec)$/m;

/** What enters by it came wrapped, to the device beneath, and was judged there as such a packet. */
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

/** The tag of a VLAN, from its file in /proc/net/vlan; null: it says none. Pure. */
export function parseVlan(text: string): number | null {
  const tag = /VID: (\d+)/.exec(text)?.[1];
  return tag === undefined ? null : Number(tag);
}

/**
 * Indices of those where what leaves is seen, and counted, once: what leaves by a port leaves by its master too, and what
 * leaves by a VLAN by the device beneath it. Pure.
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

/** How a device is to be used; `named`: every device that is judged. Pure. */
export type DevicePlan =
  | { readonly attach: true; readonly vlans: readonly number[] }
  | { readonly attach: false; readonly reason: string };

/**
 * A program on a device sees what enters by the devices built upon it too, and may drop only what is judged
 * behind it by a device that is named.
 */
export function planDevice(device: Device, named: ReadonlySet<string>): DevicePlan {
  const { uppers, isPort, hidesTags, isEthernet } = device;
  if (!isEthernet) return { attach: false, reason: 'its packets have no Ethernet header' };
  if (isPort) return { attach: false, reason: 'nothing enters by a port of a bridge or bond' };
  const otherUpper = uppers.find(({ name, vlan }) => vlan === null && !named.has(name));
  if (otherUpper !== undefined) {
    return { attach: false, reason: `${otherUpper.name} is built upon it, and is not judged` };
  }
  const unprotected = uppers.find(({ name }) => !named.has(name));
  if (unprotected !== undefined && hidesTags) {
    return {
      attach: false,
      reason: `the card hides which packets are for ${unprotected.name}, which is not judged: ethtool -K ${device.name} rxvlan off`,
    };
  }
  const vlans = uppers.flatMap(({ name, vlan }) => (vlan !== null && named.has(name) ? vlan : []));
  return { attach: true, vlans };
}

/**
 * The named device that a named one is built upon and whose program judges its packets too, tags and all: a second
 * program would judge, and count, what the first one passes. Pure.
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

/** News may be lost, and a card's settings may change without any. */
const CHECK_MS = 30_000;

/**
 * When devices have to be looked at, which takes files of /sys for each: always where nobody tells of changes, else
 * after somebody did, and every half a minute.
 */
export class DeviceCheckTimer {
  #isFollowed = false;
  #hasChanged = true;
  #checkedMs = -Infinity;

  /** From now on `stir` is called. What changed before that is not told. */
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

  /** Before the first device is looked at: what changes meanwhile asks for another look. */
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
  /** Why it is not native; null: it is, or nothing is known. */
  readonly reason: string | null;
}
