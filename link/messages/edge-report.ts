import { DROP_STAGES, type DropEntry, type DropSample } from '@portcullis/core/firewall/drops.ts';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import {
  COUNTER_MODES,
  DEVICE_KINDS,
  type EdgeDevice,
  type FastPathState,
  KERNEL_STATES,
  XDP_MODES,
} from '@portcullis/core/firewall/edge-state.ts';
import {
  array,
  boolean,
  check,
  finite,
  integer,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  withDefault,
} from './schema.ts';
import {
  address,
  deviceName,
  devicePattern,
  moment,
  network,
  packetPort,
  reason,
} from './values.ts';

/** The report of an edge about itself and about the packets that it dropped. */

const device = object<EdgeDevice>({
  name: devicePattern,
  kind: withDefault(oneOf(...DEVICE_KINDS), 'other'),
  present: boolean,
  receives: withDefault(boolean, true),
  xdp: withDefault(oneOf(...XDP_MODES), 'none'),
  reason: nullable(reason),
  master: nullable(deviceName),
});

/** A host of containers has a device for each: beyond these, the report leaves them out. */
export const MAX_HOST_DEVICES = 256;

/** Part of every heartbeat; control also stores it. */
export const edgeReport = object({
  /** Targets that have a policy of their own in the kernel: addresses and prefixes. */
  policies: natural,
  /** Elements of all maps of the table. */
  elements: natural,
  lastError: nullable(reason),
  /** How long the last apply took. */
  lastApplyMs: nullable(finite),
  /** Enforced filters on ports. */
  filters: natural,
  /** How often since the agent's start the kernel had been changed by another program and was repaired. */
  repairs: natural,
  /** Connection tracking entries deleted since the agent's start because rules now deny them. */
  forgottenConnections: natural,
  /** Whether the kernel held the agent's objects at the last check. */
  kernel: oneOf(...KERNEL_STATES),
  /** Why something configured (XDP, filters, SYN proxy) does not work, a sentence each. */
  problems: array(reason, 100),
  /** The devices that the operator named for this edge, in the operator's order. */
  devices: array(device, 256),
  /** All devices of the host, so that a fleet file that names others is warned about. Null if unknown or too many. */
  hostDevices: withDefault(nullable(array(deviceName, MAX_HOST_DEVICES)), null),
  /** Ports of the host itself that no rule closes: the operator's, and what it learned of itself. */
  management: array(object({ protocol: oneOf('tcp', 'udp'), port: packetPort }), 256),
  /** The part of the kernel that counts traffic for attack detection. */
  counters: oneOf(...COUNTER_MODES),
  /** Null of an edge without an early drop. */
  fastPath: withDefault(
    nullable(object<FastPathState>({ isOn: boolean, reason: nullable(reason), packets: natural })),
    null,
  ),
});
export type EdgeReport = Static<typeof edgeReport>;

const cause = {
  stage: oneOf(...DROP_STAGES),
  reason: matching(/^[a-z0-9][a-z0-9:._-]{0,63}$/, 'a reason'),
  by: oneOf('xdp', 'nftables'),
};

const entry = object<DropEntry>({ target: network, ...cause, packets: natural, bytes: natural });

const sample = object<DropSample>({
  atMs: moment,
  target: network,
  ...cause,
  source: address,
  destination: address,
  protocol: integer(0, 255),
  sourcePort: nullable(packetPort),
  destinationPort: nullable(packetPort),
  length: integer(0, 0xffff_ffff),
  device: nullable(deviceName),
});

/** Whether control accepts it. A report with an entry that control refuses ends the edge's connection. */
export function isDropEntry(value: DropEntry): boolean {
  return check(entry, value).ok;
}
/** Whether control accepts it; see `isDropEntry`. */
export function isDropSample(value: DropSample): boolean {
  return check(sample, value).ok;
}

const passed = object<PassedSample>({
  destination: address,
  source: address,
  protocol: integer(0, 255),
  destinationPort: nullable(packetPort),
  packets: natural,
});

/** Whether control accepts it; see `isDropEntry`. */
export function isPassedSample(value: PassedSample): boolean {
  return check(passed, value).ok;
}

export const MAX_PASSED_SAMPLES = 500;
export const MAX_DROP_ENTRIES = 1_000;
export const MAX_DROP_SAMPLES = 200;

/** Packets dropped between two moments of the edge's clock; each packet is counted in one report only. */
export interface EdgeDrops {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Largest first; the rest follows in the next report. */
  readonly entries: readonly DropEntry[];
  /** Further dropped packets are only counted. */
  readonly samples: readonly DropSample[];
  /** Packets that passed meanwhile; absent from an edge that does not sample it. */
  readonly passed?: readonly PassedSample[];
}
export const edgeDrops = object<EdgeDrops>({
  sinceMs: moment,
  untilMs: moment,
  entries: array(entry, MAX_DROP_ENTRIES),
  samples: array(sample, MAX_DROP_SAMPLES),
  passed: optional(array(passed, MAX_PASSED_SAMPLES)),
});
