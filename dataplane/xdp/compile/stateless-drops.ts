import type { Struck } from './early-target.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { containsAddress } from '@portcullis/core/net/cidr.ts';
import { networkFrom } from '../../compile/match.ts';
import { safeNetworks } from '../../nftables/filters/safe-sources.ts';
import { addressBytes, LAYOUT, maskBytes } from '../maps/layout.ts';

/** Each once: of several that drop the same, the one that spares fewest. */
export function strucksOf({ mitigations }: Policy, family: Family): Struck[] {
  const found = new Map<string, Struck>();
  for (const mitigation of mitigations) {
    const struck = struckOf(mitigation, family);
    if (struck === null) continue;
    const key = keyOf(struck, 0).toString('latin1');
    const known = found.get(key);
    if (known === undefined || spared(struck) < spared(known)) found.set(key, struck);
  }
  return [...found.values()];
}

function struckOf(mitigation: Mitigation, family: Family): Struck | null {
  const { mode, protocol, source, sourcePort, destinationPort, fragment, limit } = mitigation;
  if (mode !== 'enforce' || limit !== null || fragment !== 'any') return null;
  if (destinationPort !== null || protocol === 'any') return null;
  const safe = safeNetworks(mitigation.safelist, family);
  if (source === null) {
    const isPort = protocol === 'udp' && sourcePort !== null && sourcePort > 0;
    if (!isPort || safe.length > LAYOUT.SAFE_NETWORKS) return null;
    return { kind: 'port', sourcePort, safe };
  }
  const cidr = networkFrom(source);
  const isOne = cidr.family === family && cidr.length === BITS[family] && sourcePort === null;
  if (!isOne || safe.some((network) => containsAddress(network, cidr))) return null;
  return { kind: 'source', protocol: protocolNumber(protocol, family), source: cidr };
}

function spared(struck: Struck): number {
  return struck.kind === 'port' ? struck.safe.length : 0;
}

const ADDRESS_BYTES = 16;
export const STRUCK_BYTES = 4 + LAYOUT.SAFE_NETWORKS * 2 * ADDRESS_BYTES;

/** The elements of a target's, looked up by the place of its counters. */
export function encodeStruck(
  strucks: readonly Struck[],
  slot: number,
): { readonly map: string; readonly key: Buffer; readonly value: Buffer }[] {
  return strucks.map((struck) => ({
    map: 'struck_by',
    key: keyOf(struck, slot),
    value: valueOf(struck),
  }));
}

/** `struct struck_key` of layout.h. */
function keyOf(struck: Struck, slot: number): Buffer {
  const key = Buffer.alloc(8 + ADDRESS_BYTES);
  key.writeUInt32LE(slot, 0);
  if (struck.kind === 'port') {
    key.writeUInt32LE(UDP * 65_536 + struck.sourcePort, 4);
  } else {
    key.writeUInt32LE(struck.protocol * 65_536, 4);
    addressBytes(struck.source).copy(key, 8);
  }
  return key;
}

const UDP = 17;

/** `struct struck` of layout.h. */
function valueOf(struck: Struck): Buffer {
  const value = Buffer.alloc(STRUCK_BYTES);
  const safe = struck.kind === 'port' ? struck.safe : [];
  value.writeUInt32LE(safe.length, 0);
  safe.forEach((network, index) => {
    const at = 4 + index * 2 * ADDRESS_BYTES;
    addressBytes(network).copy(value, at);
    maskBytes(network.family, network.length).copy(value, at + ADDRESS_BYTES);
  });
  return value;
}
