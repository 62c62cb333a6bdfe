import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { parseAddress, formatAddress } from '@portcullis/core/net/address.ts';
import {
  COUNTER_MODES,
  DEVICE_KINDS,
  type EdgeDevice,
  KERNEL_STATES,
  XDP_MODES,
} from '@portcullis/core/firewall/edge-state.ts';
import { DROP_STAGES, type DropEntry, type DropSample } from '@portcullis/core/firewall/drops.ts';
import {
  type EdgeDrops,
  type EdgeReport,
  MAX_DROP_ENTRIES,
  MAX_DROP_SAMPLES,
} from './edge-report.ts';
import { network } from './parse-policy.ts';
import {
  accepted,
  amount,
  check,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  prose,
  type Shape,
  whole,
} from './shape.ts';

const reason = prose(2_000);
/** An interface name: up to 15 bytes, no slash, space or quote (it becomes nft text). */
export const deviceName = matching(/^[A-Za-z0-9_.:@-]{1,15}$/, 'a device');

const device = object<EdgeDevice>({
  name: deviceName,
  kind: optional(oneOf(...DEVICE_KINDS), 'other'),
  present: flag,
  xdp: optional(oneOf(...XDP_MODES), 'none'),
  reason: nullable(reason),
  master: nullable(deviceName),
});

/** The first four were there from the beginning. */
export const report = object<EdgeReport>({
  policies: whole,
  elements: whole,
  lastError: nullable(reason),
  lastApplyMs: nullable(amount),
  filters: optional(whole, 0),
  repairs: optional(whole, 0),
  forgottenConnections: optional(whole, 0),
  kernel: optional(oneOf(...KERNEL_STATES), 'unknown'),
  problems: optional(list(reason, 100), []),
  devices: optional(list(device, 256), []),
  counters: optional(oneOf(...COUNTER_MODES), 'none'),
});

/** A report that was stored, perhaps by a version before this one. */
export function parseReport(value: unknown): Parsed<EdgeReport> {
  return check(report, value);
}

/** The clock of an edge may be wrong, but not absurd: year 1970 to 9999. */
export const moment = integer(0, 253_402_300_799_999);
export const address: Shape<string> = accepted((text) => {
  const parsed = parseAddress(text);
  return parsed.ok && formatAddress(parsed.value) === text;
}, 'a canonical address');
const slug = matching(/^[a-z0-9][a-z0-9:._-]{0,63}$/, 'a reason');
const cause = {
  stage: oneOf(...DROP_STAGES),
  reason: slug,
  by: oneOf('xdp', 'nftables'),
};
const port = integer(0, 65_535);

const entry = object<DropEntry>({ target: network, ...cause, packets: whole, bytes: whole });

const sample = object<DropSample>({
  atMs: moment,
  target: network,
  ...cause,
  source: address,
  destination: address,
  protocol: integer(0, 255),
  sourcePort: nullable(port),
  destinationPort: nullable(port),
  length: integer(0, 0xffff_ffff),
  device: nullable(deviceName),
});

/** Whether control would take it: one that it does not take ends the connection, and with it everything else. */
export function isDropEntry(value: DropEntry): boolean {
  return check(entry, value).ok;
}
export function isDropSample(value: DropSample): boolean {
  return check(sample, value).ok;
}

export const drops = object<EdgeDrops>({
  sinceMs: moment,
  untilMs: moment,
  entries: list(entry, MAX_DROP_ENTRIES),
  samples: list(sample, MAX_DROP_SAMPLES),
});
