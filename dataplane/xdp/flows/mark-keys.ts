import type { Family } from '@portcullis/core/net/address.ts';
import { addressHash, LAYOUT } from '../maps/layout.ts';

/** A flow as incoming packets show it: `local` is the protected side. Addresses are in network order. */
export interface Flow {
  readonly family: Family;
  readonly protocol: number;
  readonly local: Buffer;
  readonly remote: Buffer;
  /** 0 for protocols other than TCP and UDP. */
  readonly localPort: number;
  readonly remotePort: number;
}

const HOST_SHIFT = 32 - LAYOUT.HOST_BITS;

/** The indices of a flow and of its protected host in the mark maps, by the hashes of flows.h. */
export function markKeys(flow: Flow, seed: number): { host: number; flow: number } {
  const words = flow.family === 4 ? 1 : 4;
  let hash = seed ^ flow.protocol;
  for (let word = 0; word < words; word++) {
    hash = mixed(hash, flow.local.readUInt32LE(word * 4));
    hash = mixed(hash, flow.remote.readUInt32LE(word * 4));
  }
  if (flow.protocol === 6 || flow.protocol === 17) {
    hash = mixed(
      hash,
      ((networkOrder(flow.localPort) << 16) | networkOrder(flow.remotePort)) >>> 0,
    );
  }
  return {
    host: addressHash(flow.family, flow.local) >>> HOST_SHIFT,
    flow: finished(hash) & (LAYOUT.FLOW_MARKS - 1),
  };
}

/** The time that the programs write as a mark: seconds since boot plus 1. */
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

function networkOrder(port: number): number {
  return ((port & 0xff) << 8) | (port >>> 8);
}
