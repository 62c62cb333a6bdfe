import type { XdpMode } from '@portcullis/core/firewall/edge-state.ts';

/** How the early drop is attached to each device. */
export interface DeviceModes {
  modeOf(device: string): DeviceMode;
}
export interface DeviceMode {
  readonly xdp: XdpMode;
  /** Why it is not native; null: it is, or nothing is known. */
  readonly reason: string | null;
}
