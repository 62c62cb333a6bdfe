import type { Family } from '@portcullis/core/net/address.ts';
import { addressHash } from '../maps/address-hash.ts';
import { LAYOUT } from '../maps/layout.ts';

/** A flow as its packets from outside have it: `local` is the protected side. Addresses in network order. */
export interface Flow {
  readonly family: Family;
  readonly protocol: number;
  readonly local: Buffer;
  readonly remote: Buffer;
  /** Of TCP and UDP. */
  readonly localPort: number;
  readonly remotePort: number;
}

const HOST_SHIFT = 32 - LAYOUT.HOST_BITS;

/** Where the programs look for a flow and for its protected host: the hashes of flows.h. */
export function markPlaces(flow: Flow, seed: number): { host: number; flow: number } {
  const words = flow.family === 4 ? 1 : 4;
  let hash = seed ^ flow.protocol;
  for (let word = 0; word < words; word++) {
    hash = mixed(hash, flow.local.readUInt32LE(word * 4));
    hash = mixed(hash, flow.remote.readUInt32LE(word * 4));
  }
  if (flow.protocol === 6 || flow.protocol === 17) {
    hash = mixed(hash, ((swapped(flow.localPort) << 16) | swapped(flow.remotePort)) >>> 0);
  }
  return {
    host: addressHash(flow.family, flow.local) >>> HOST_SHIFT,
    flow: finished(hash) & (LAYOUT.FLOW_MARKS - 1),
  };
}

/** What the programs mark with: whole seconds since the host started, from 1 on. */
export function markNow(): number {
  return Number(process.hrtime.bigint() / 1_000_000_000n) + 1;
}

function mixed(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, 0x85ebca6b) >>> 0;
  return (product ^ (product >>> 15)) >>> 0;
}

function finished(hash: number): number {
  const product = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
  return (product ^ (product >>> 16)) >>> 0;
}

function swapped(port: number): number {
  return ((port & 0xff) << 8) | (port >>> 8);
}
