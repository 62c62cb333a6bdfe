import type { StatelessDrop } from './early-target.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { containsAddress } from '@portcullis/core/net/cidr.ts';
import { networkFrom } from '../../compile/match.ts';
import { safeNetworks } from '../../nftables/filters/safe-sources.ts';
import { addressBytes, LAYOUT, maskBytes } from '../maps/layout.ts';

/** Keeps each match once, the one that drops most. */
export function statelessDropsOf({ mitigations }: Policy, family: Family): StatelessDrop[] {
  const found = new Map<string, StatelessDrop>();
  for (const mitigation of mitigations) {
    const drop = statelessDropOf(mitigation, family);
    if (drop === null) continue;
    const key = keyOf(drop, 0).toString('latin1');
    const known = found.get(key);
    if (known === undefined || exemptions(drop) < exemptions(known)) found.set(key, drop);
  }
  return [...found.values()];
}

function statelessDropOf(mitigation: Mitigation, family: Family): StatelessDrop | null {
  const { mode, protocol, source, sourcePort, destinationPort, fragment, limit } = mitigation;
  if (mode !== 'enforce' || fragment !== 'any') return null;
  if (destinationPort !== null || protocol === 'any') return null;
  const unansweredOnly = limit?.unansweredOnly === true && limit.pps === 0;
  if (limit !== null && !unansweredOnly) return null;
  const safe = safeNetworks(mitigation.safelist, family);
  // Marks show no answered connections of TCP.
  if (unansweredOnly && (source === null || protocol === 'tcp')) return null;
  if (source === null) {
    const isPort = protocol === 'udp' && sourcePort !== null && sourcePort > 0;
    if (!isPort || safe.length > LAYOUT.SAFE_NETWORKS) return null;
    return { kind: 'port', sourcePort, safe };
  }
  const cidr = networkFrom(source);
  const isOne = cidr.family === family && cidr.length === BITS[family] && sourcePort === null;
  if (!isOne || safe.some((network) => containsAddress(network, cidr))) return null;
  const number = protocolNumber(protocol, family);
  return { kind: 'source', protocol: number, source: cidr, unansweredOnly };
}

function exemptions(drop: StatelessDrop): number {
  return drop.kind === 'port' ? drop.safe.length : Number(drop.unansweredOnly);
}

const ADDRESS_BYTES = 16;
export const STATELESS_DROP_BYTES = 4 + LAYOUT.SAFE_NETWORKS * 2 * ADDRESS_BYTES;

/** The elements of a target, keyed by its counter slot. */
export function encodeStatelessDrops(
  drops: readonly StatelessDrop[],
  slot: number,
): { readonly map: string; readonly key: Buffer; readonly value: Buffer }[] {
  return drops.map((drop) => ({
    map: 'stateless_drops',
    key: keyOf(drop, slot),
    value: valueOf(drop),
  }));
}

/** `struct stateless_key` of layout.h. */
function keyOf(drop: StatelessDrop, slot: number): Buffer {
  const key = Buffer.alloc(8 + ADDRESS_BYTES);
  key.writeUInt32LE(slot, 0);
  if (drop.kind === 'port') {
    key.writeUInt32LE(UDP * 65_536 + drop.sourcePort, 4);
  } else {
    key.writeUInt32LE(drop.protocol * 65_536, 4);
    addressBytes(drop.source).copy(key, 8);
  }
  return key;
}

const UDP = 17;

/** `struct stateless_drop` of layout.h. */
function valueOf(drop: StatelessDrop): Buffer {
  const value = Buffer.alloc(STATELESS_DROP_BYTES);
  const safe = drop.kind === 'port' ? drop.safe : [];
  value.writeUInt16LE(safe.length, 0);
  value.writeUInt16LE(Number(drop.kind === 'source' && drop.unansweredOnly), 2);
  safe.forEach((network, index) => {
    const at = 4 + index * 2 * ADDRESS_BYTES;
    addressBytes(network).copy(value, at);
    maskBytes(network.family, network.length).copy(value, at + ADDRESS_BYTES);
  });
  return value;
}
