import type { StatelessDrop } from './early-target.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { containsAddress } from '@portcullis/core/net/cidr.ts';
import { networkFrom } from '../../compile/match.ts';
import { safeNetworks } from '../../nftables/filters/safe-sources.ts';
import { addressBytes, LAYOUT, maskBytes } from '../maps/layout.ts';

/** Keeps each match once, with the fewest safe networks. */
export function statelessDropsOf({ mitigations }: Policy, family: Family): StatelessDrop[] {
  const found = new Map<string, StatelessDrop>();
  for (const mitigation of mitigations) {
    const struck = statelessDropOf(mitigation, family);
    if (struck === null) continue;
    const key = keyOf(struck, 0).toString('latin1');
    const known = found.get(key);
    if (known === undefined || safeNetworkCount(struck) < safeNetworkCount(known))
      found.set(key, struck);
  }
  return [...found.values()];
}

function statelessDropOf(mitigation: Mitigation, family: Family): StatelessDrop | null {
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

function safeNetworkCount(struck: StatelessDrop): number {
  return struck.kind === 'port' ? struck.safe.length : 0;
}

const ADDRESS_BYTES = 16;
export const STATELESS_DROP_BYTES = 4 + LAYOUT.SAFE_NETWORKS * 2 * ADDRESS_BYTES;

/** The elements of a target, keyed by its counter slot. */
export function encodeStatelessDrops(
  strucks: readonly StatelessDrop[],
  slot: number,
): { readonly map: string; readonly key: Buffer; readonly value: Buffer }[] {
  return strucks.map((struck) => ({
    map: 'struck_by',
    key: keyOf(struck, slot),
    value: valueOf(struck),
  }));
}

/** `struct stateless_key` of layout.h. */
function keyOf(struck: StatelessDrop, slot: number): Buffer {
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

/** `struct stateless_drop` of layout.h. */
function valueOf(struck: StatelessDrop): Buffer {
  const value = Buffer.alloc(STATELESS_DROP_BYTES);
  const safe = struck.kind === 'port' ? struck.safe : [];
  value.writeUInt32LE(safe.length, 0);
  safe.forEach((network, index) => {
    const at = 4 + index * 2 * ADDRESS_BYTES;
    addressBytes(network).copy(value, at);
    maskBytes(network.family, network.length).copy(value, at + ADDRESS_BYTES);
  });
  return value;
}
