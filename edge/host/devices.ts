import type { DeviceModes } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { DeviceKind, EdgeDevice } from '@portcullis/core/firewall/edge-state.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Host } from './host.ts';
import { type DriverInfo, driverInfo } from '@portcullis/dataplane/kernel/ethtool.ts';

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

/** Logs what is wrong with the devices that the operator named. */
export function warnOfDevices(names: readonly string[], host: Host, log: Log): void {
  for (const { name, reason } of describeDevices(names, host, null)) {
    if (reason !== null) log.warn({ device: name }, reason);
  }
}

/** Describes the devices that the operator named, in the given order. */
export function describeDevices(
  names: readonly string[],
  host: Host,
  modes: DeviceModes | null,
): EdgeDevice[] {
  const there = new Set(host.devices());
  return [...new Set(names)].map((name) => {
    const present = there.has(name);
    const master = present ? host.masterOf(name) : null;
    const { xdp, reason } = modes?.modeOf(name) ?? { xdp: 'none' as const, reason: null };
    const problem = problemOf(present, master !== null && !names.includes(master) ? master : null);
    return {
      name,
      kind: present ? kindIn(name) : 'other',
      present,
      xdp: present ? xdp : 'none',
      reason: problem ?? reason,
      master,
    };
  });
}

/** The kernel hands packets of a port to the bridge or bond before our hooks run. */
function problemOf(present: boolean, unnamedMaster: string | null): string | null {
  if (!present) return `there is no such device on this host (yet)`;
  if (unnamedMaster === null) return null;
  return `nothing enters by a port: name its master ${unnamedMaster} as the device`;
}

function kindIn(name: string): DeviceKind {
  try {
    return kindOf(driverInfo(name));
  } catch {
    // The kind is only shown; an edge without native calls enforces all the same.
    return 'other';
  }
}
