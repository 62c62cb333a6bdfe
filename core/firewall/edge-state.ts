/** The counters of an edge. `none`: nothing is counted and no attack is detected. */
export const COUNTER_MODES = ['xdp', 'nftables', 'none'] as const;
export type CounterMode = (typeof COUNTER_MODES)[number];

/**
 * The state of the kernel objects. `unknown`: the agent cannot check. `disturbed`: another program changed them, and
 * the repair is pending.
 */
export const KERNEL_STATES = ['undisturbed', 'disturbed', 'unknown'] as const;
export type KernelState = (typeof KERNEL_STATES)[number];

/** How an edge forwards UDP flows that servers answer. */
export interface FastPathState {
  /** The early drop forwards their packets without the network stack. */
  readonly isOn: boolean;
  /** Why it does not; null while it does. */
  readonly reason: string | null;
  /** Packets that were forwarded so since the agent's start. */
  readonly packets: number;
}

export interface EdgeDevice {
  readonly name: string;
  readonly kind: DeviceKind;
  readonly present: boolean;
  /** Packets can come in by it: it is present and up, and no port of a bridge or bond that is not named. */
  readonly receives: boolean;
  /** How the early drop is attached. */
  readonly xdp: XdpMode;
  /** Why it is not `native`, or the device's problem; else null. */
  readonly reason: string | null;
  /** The bridge or bond that it is a port of: then packets enter by the master. */
  readonly master: string | null;
}
export const DEVICE_KINDS = ['physical', 'vlan', 'bridge', 'bond', 'veth', 'other'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];
export const XDP_MODES = ['native', 'tc', 'none'] as const;
export type XdpMode = (typeof XDP_MODES)[number];

/** Whether the operator means several devices: `ens*`. */
export function isDevicePattern(named: string): boolean {
  return named.endsWith('*');
}

export function matchesDevice(named: string, device: string): boolean {
  return isDevicePattern(named) ? device.startsWith(named.slice(0, -1)) : device === named;
}
