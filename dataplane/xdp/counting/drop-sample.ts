import { formatAddress } from '@portcullis/core/net/address.ts';
import { readFacts } from './frame-facts.ts';
import { LAYOUT } from '../maps/layout.ts';
import { REASONS, type Reason } from '../compile/early-target.ts';

/** The first bytes of a dropped packet. */
export interface Sample {
  /** Nanoseconds of CLOCK_MONOTONIC. */
  readonly at: bigint;
  readonly ifindex: number;
  readonly slot: number;
  readonly reason: Reason;
  readonly packet: SampledPacket;
}
export interface SampledPacket {
  readonly source: string;
  readonly destination: string;
  readonly protocol: number;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** In bytes from the IP header on. */
  readonly length: number;
}

const HEADER_BYTES = 32;

/** Returns null for a malformed record. */
export function readSample(record: Buffer): Sample | null {
  if (record.length < HEADER_BYTES + LAYOUT.SAMPLE_BYTES) return null;
  const captured = Math.min(record.readUInt32LE(20), LAYOUT.SAMPLE_BYTES);
  const facts = readFacts(record.subarray(HEADER_BYTES, HEADER_BYTES + captured));
  const reason = REASONS[record.readUInt32LE(24)];
  if (facts === null || reason === undefined) return null;
  const { source, destination, protocol, sourcePort, destinationPort, ip } = facts;
  return {
    at: record.readBigUInt64LE(0),
    ifindex: record.readUInt32LE(8),
    slot: record.readUInt32LE(12),
    reason,
    packet: {
      source: formatAddress(source),
      destination: formatAddress(destination),
      protocol,
      sourcePort,
      destinationPort,
      length: record.readUInt32LE(16) - ip,
    },
  };
}
