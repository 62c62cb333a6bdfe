/** `none`: nothing is counted, so no attack is detected here. */
export const COUNTER_MODES = ['xdp', 'nftables', 'none'] as const;
export type CounterMode = (typeof COUNTER_MODES)[number];

/** `unknown`: the agent cannot look. `disturbed`: somebody else changed it, and it is not mended yet. */
export const KERNEL_STATES = ['undisturbed', 'disturbed', 'unknown'] as const;
export type KernelState = (typeof KERNEL_STATES)[number];

export interface EdgeDevice {
  readonly name: string;
  readonly kind: DeviceKind;
  readonly present: boolean;
  /** How the early drop is attached. */
  readonly xdp: XdpMode;
  /** Why not `native`, or what is wrong with the device; null: nothing to say. */
  readonly reason: string | null;
  /** The bridge or bond that it is a port of: nothing enters by it then, but by its master. */
  readonly master: string | null;
}
export const DEVICE_KINDS = ['physical', 'vlan', 'bridge', 'bond', 'veth', 'other'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];
export const XDP_MODES = ['native', 'generic', 'none'] as const;
export type XdpMode = (typeof XDP_MODES)[number];
