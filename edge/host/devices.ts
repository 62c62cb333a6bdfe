import type { DeviceModes } from '@portcullis/dataplane/xdp/devices/device.ts';
import {
  type DeviceKind,
  type EdgeDevice,
  isDevicePattern,
  matchesDevice,
} from '@portcullis/core/firewall/edge-state.ts';
import { type DriverInfo, driverInfo } from '@portcullis/dataplane/kernel/ethtool.ts';
import type { LinkEvent } from '@portcullis/dataplane/kernel/netlink/links.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import { deviceName } from '@portcullis/link/messages/values.ts';
import { MAX_HOST_DEVICES } from '@portcullis/link/messages/edge-report.ts';
import type { Host } from './host.ts';

const KIND_OF_DRIVER: Readonly<Record<string, DeviceKind>> = {
  veth: 'veth',
  bonding: 'bond',
  bridge: 'bridge',
  '802.1Q VLAN Support': 'vlan',
  // It reports a bus although it is virtual.
  tun: 'other',
};

/** Pure. */
export function kindOf(info: DriverInfo | null): DeviceKind {
  if (info === null) return 'other';
  return KIND_OF_DRIVER[info.driver] ?? (info.bus === '' ? 'other' : 'physical');
}

/** The devices by which packets can come in: an edge enforces nothing by those where none can. */
export interface Reception {
  readonly by: 'all' | 'some' | 'none';
  /** Names the others, and why; null for all. */
  readonly reason: string | null;
}

/**
 * The devices that the operator named for this edge, by name or by a pattern such as `ens*`, and whether packets can
 * come in by them. A device that is renamed while the agent runs keeps its protection under the new name, until it
 * disappears or the operator names it so; a new device with the old name is protected as well.
 */
export class NamedDevices {
  readonly #host: Host;
  /** The first and the present name of renamed devices, by index. */
  readonly #renamed = new Map<number, { readonly first: string; readonly now: string }>();
  #beforeLook = (): void => {};

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Sets what reads the events that wait: a device that was renamed a moment ago is otherwise taken for a missing one, and
   * loses its protection until its event arrives.
   */
  beforeLook(read: () => void): void {
    this.#beforeLook = read;
  }

  follow(event: LinkEvent): void {
    if (event.kind === 'gone') this.#renamed.delete(event.index);
    if (event.kind !== 'renamed') return;
    const first = this.#renamed.get(event.index)?.first ?? event.before;
    if (first === event.name) this.#renamed.delete(event.index);
    else this.#renamed.set(event.index, { first, now: event.name });
  }

  /**
   * The names to enforce on: the given ones, whether or not the device is there; the present devices that match a
   * pattern; and the present names of renamed devices, sorted.
   */
  resolve(named: readonly string[]): readonly string[] {
    this.#beforeLook();
    const found = named.flatMap((one) => (isDevicePattern(one) ? this.#matching(one) : one));
    const renamed = [...this.#renamed.values()]
      .filter(
        ({ first, now }) => named.some((one) => matchesDevice(one, first)) && !found.includes(now),
      )
      .map(({ now }) => now);
    return [...new Set([...found, ...renamed.toSorted()])];
  }

  /** Describes the devices in the given order; a pattern that matches none is described by itself. */
  describe(named: readonly string[], modes: DeviceModes | null): EdgeDevice[] {
    this.#beforeLook();
    const present = new Set(this.#host.devices());
    const unmatched = named.filter(
      (one) => isDevicePattern(one) && this.#matching(one).length === 0,
    );
    const resolved = [...this.resolve(named), ...unmatched];
    return resolved.map((name) => {
      const isThere = present.has(name);
      const master = isThere ? this.#host.masterOf(name) : null;
      const problem = this.#problemOf(name, isThere, resolved, master);
      const { xdp, reason } = modes?.modeOf(name) ?? { xdp: 'none' as const, reason: null };
      return {
        name,
        kind: isThere ? kindIn(name) : 'other',
        present: isThere,
        receives: problem === null,
        xdp: isThere ? xdp : 'none',
        reason: problem ?? reason,
        master,
      };
    });
  }

  /** Finds the devices by which packets can come in. */
  reception(named: readonly string[]): Reception {
    const devices = this.describe(named, null);
    if (devices.length === 0) return { by: 'none', reason: 'no device is named for it' };
    const missing = devices.filter(({ receives }) => !receives);
    if (missing.length === 0) return { by: 'all', reason: null };
    const list = missing.map(({ name, reason }) => `${name} (${reason})`).join(', ');
    return {
      by: missing.length === devices.length ? 'none' : 'some',
      reason: `no packet can come in by ${list}`,
    };
  }

  /** The names of the devices of this host; null if they are more than a report takes. */
  namesOfHost(): readonly string[] | null {
    // A report with a name that control refuses would say nothing else.
    const names = this.#host.devices().filter((name) => check(deviceName, name).ok);
    return names.length > MAX_HOST_DEVICES ? null : names;
  }

  #matching(pattern: string): string[] {
    return this.#host.devices().filter((name) => name !== 'lo' && matchesDevice(pattern, name));
  }

  #problemOf(
    name: string,
    isThere: boolean,
    named: readonly string[],
    master: string | null,
  ): string | null {
    if (isDevicePattern(name)) return 'no device of this host matches it';
    if (!isThere) {
      const renamed = [...this.#renamed.values()].find(({ first }) => first === name);
      return renamed === undefined
        ? 'there is no such device on this host'
        : `it is called ${renamed.now} now: name it so, or a restart leaves it open`;
    }
    // The kernel hands packets of a port to the bridge or bond before our hooks run.
    if (master !== null && !named.includes(master))
      return `nothing enters by a port: name its master ${master} as the device`;
    return this.#host.isUp(name) ? null : 'it is down';
  }
}

function kindIn(name: string): DeviceKind {
  try {
    return kindOf(driverInfo(name));
  } catch {
    // The kind is only shown; an edge without native calls enforces all the same.
    return 'other';
  }
}
