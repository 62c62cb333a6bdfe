import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import { lookupElement, updateElement } from '../../kernel/bpf/bpf.ts';
import type { EarlySettings } from '../driver/driver.ts';
import { LAYOUT, packetKey } from './layout.ts';
import { portBits } from './lines/encode.ts';
import type { MapSet } from './map-set.ts';
import type { Targets } from './targets.ts';

const FIRST = Buffer.alloc(4);
const MANAGEMENT_WORDS = 2048;
/** `struct settings` of layout.h. */
const MANAGED_AT = 28;
const LINES_AT = MANAGED_AT + 4 * LAYOUT.MANAGED_PORTS;
const NAMED_AT = LINES_AT + 12 + 8 * LAYOUT.LINE_WORDS;
export const SETTINGS_BYTES = NAMED_AT + 4 * LAYOUT.NAMED_DEVICES;
/** DHCP replies to clients, by family. */
const DHCP_KEYS = [packetKey(17, 68), packetKey(17, 546)];

export function writeSettings(
  maps: MapSet,
  settings: EarlySettings,
  targets: Targets,
  seed: number,
): void {
  const { management } = settings;
  const many = management.length > LAYOUT.MANAGED_PORTS;
  if (many) writeManagement(maps, settings);
  writeVlans(maps, settings);
  const flags =
    (settings.keepReplies ? LAYOUT.KEEP_REPLIES : 0) |
    (settings.flowsComplete ? LAYOUT.FLOWS_COMPLETE : 0) |
    (settings.marksAll ? LAYOUT.MARKS_ALL : 0) |
    (targets.hasPrefixes(4) ? LAYOUT.HAS_PREFIXES_4 : 0) |
    (targets.hasPrefixes(6) ? LAYOUT.HAS_PREFIXES_6 : 0) |
    (settings.vlans.length > 0 ? LAYOUT.HAS_VLANS : 0) |
    (many ? LAYOUT.MANY_MANAGED : 0);
  const value = Buffer.alloc(SETTINGS_BYTES);
  value.writeUInt32LE(flags, 0);
  value.writeUInt32LE(settings.remember.tcp, 4);
  value.writeUInt32LE(settings.remember.udp, 8);
  value.writeUInt32LE(settings.remember.other, 12);
  value.writeUInt32LE(maps.slots, 16);
  value.writeUInt32LE(seed, 20);
  if (!many) {
    value.writeUInt32LE(management.length, 24);
    management.forEach((one, index) =>
      value.writeUInt32LE(managedKey(one), MANAGED_AT + 4 * index),
    );
  }
  for (const [index, family] of ([4, 6] as const).entries()) {
    value.writeUInt32LE(maps.lineShift(family), LINES_AT + 4 * index);
  }
  portBits([...management.map(managedKey), ...DHCP_KEYS]).copy(value, LINES_AT + 12);
  if (settings.named.length <= LAYOUT.NAMED_DEVICES)
    settings.named.forEach((ifindex, index) => value.writeUInt32LE(ifindex, NAMED_AT + 4 * index));
  updateElement(maps.map('settings'), FIRST, value);
}

function managedKey({ protocol, port }: ManagementPort): number {
  return packetKey(protocolNumber(protocol, 4), port);
}

/** One bit per port, TCP before UDP. Bits are set before others are cleared, so no port is missing in between. */
function writeManagement(maps: MapSet, { management }: EarlySettings): void {
  const words = new BigUint64Array(MANAGEMENT_WORDS);
  for (const { protocol, port } of management) {
    const word = (protocolNumber(protocol, 4) === 17 ? MANAGEMENT_WORDS / 2 : 0) + (port >> 6);
    words[word] = (words[word] ?? 0n) | (1n << BigInt(port & 63));
  }
  const key = Buffer.alloc(4);
  const value = Buffer.alloc(8);
  for (const [index, word] of words.entries()) {
    key.writeUInt32LE(index, 0);
    lookupElement(maps.map('management'), key, value);
    if (value.readBigUInt64LE(0) === word) continue;
    value.writeBigUInt64LE(word, 0);
    updateElement(maps.map('management'), key, value);
  }
}

function writeVlans(maps: MapSet, { vlans }: EarlySettings): void {
  const elements = vlans.map(({ ifindex, outer, inner }) => {
    const key = Buffer.alloc(8);
    key.writeUInt32LE(ifindex, 0);
    key.writeUInt16LE(outer, 4);
    key.writeUInt16LE(inner, 6);
    return key;
  });
  maps.replaceAll('vlans', elements, Buffer.alloc(4));
}
