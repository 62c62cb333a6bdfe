import { type Family, parseAddress } from '@portcullis/core/net/address.ts';

/** The packets that a generator makes; `struct plan` of generator.bpf.c says the same. */
export interface Plan {
  readonly family: Family;
  /** The destination is this address plus a random number below `destinations`. */
  readonly destination: string;
  readonly destinations: number;
  /** Share of packets (0 to 1) to one of the 65,536 addresses from `outside` on instead. */
  readonly outsideShare?: number;
  readonly outside?: string;
  /** The last 32 bits of the source get random bits under this mask. */
  readonly source: string;
  readonly sourceRandom: number;
  readonly sourcePorts: readonly [first: number, last: number];
  readonly ports: readonly [first: number, last: number];
  /** Share of packets that are TCP; the others are UDP. */
  readonly tcpShare: number;
  /**
   * The free bytes before each packet, 256 by default. Drivers without XDP reserve fewer, and generic XDP then copies each
   * packet.
   */
  readonly headroom?: number;
  readonly to: string;
  readonly from: string;
}

export interface Round {
  readonly device: string;
  readonly ifindex: number;
  readonly plan: Plan;
  readonly packets: number;
}

export interface Counted {
  readonly sent: number;
  /** Frames counted by the other end of the wire. */
  readonly taken: number;
  readonly ns: number;
}

const XDP_HEADROOM = 256;

export const PLAN_BYTES = 104;
/** Lengths without a checksum of the frame: 64 and 78 bytes on a wire. */
export const FRAME_BYTES: Readonly<Record<Family, number>> = { 4: 60, 6: 74 };

export function encodePlan(plan: Plan): Buffer {
  const bytes = Buffer.alloc(PLAN_BYTES);
  bytes.writeBigUInt64LE((BigInt(Math.floor(Math.random() * 2 ** 48)) << 8n) | 1n, 0);
  mac(plan.to).copy(bytes, 8);
  mac(plan.from).copy(bytes, 14);
  bytes.writeUInt32LE(plan.family, 20);
  bytes.writeUInt32LE(Math.round(plan.tcpShare * 65_536), 24);
  addressBytes(plan.destination).copy(bytes, 28);
  bytes.writeUInt32LE(plan.destinations, 44);
  bytes.writeUInt32LE(Math.round((plan.outsideShare ?? 0) * 65_536), 48);
  addressBytes(plan.outside ?? plan.destination).copy(bytes, 52);
  addressBytes(plan.source).copy(bytes, 68);
  bytes.writeUInt32BE(plan.sourceRandom >>> 0, 84);
  writeRange(bytes, plan.sourcePorts, 88);
  writeRange(bytes, plan.ports, 92);
  bytes.writeUInt32LE(XDP_HEADROOM - (plan.headroom ?? XDP_HEADROOM), 96);
  return bytes;
}

function writeRange(bytes: Buffer, [first, last]: readonly [number, number], at: number): void {
  bytes.writeUInt16LE(first, at);
  bytes.writeUInt16LE(last - first + 1, at + 2);
}

function mac(text: string): Buffer {
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}

/** Sixteen bytes; IPv4 in the last four. */
function addressBytes(text: string): Buffer {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  return Buffer.from(address.value.value.toString(16).padStart(32, '0'), 'hex');
}
