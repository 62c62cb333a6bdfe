import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { decodeIpfix } from './ipfix.ts';
import { decodeNetflowV5 } from './netflow-v5.ts';
import { decodeNetflowV9 } from './netflow-v9.ts';
import { decodeSflow } from './sflow.ts';

/** Emits every record of a datagram in any of the four formats. Never throws. */
export function decode(bytes: Uint8Array, arrival: Arrival): void {
  const { counters } = arrival.exporter;
  counters.datagrams++;
  if (!decodeFormat(bytes, arrival)) counters.malformed++;
}

/** Returns false if a part contradicts its lengths. */
function decodeFormat(bytes: Uint8Array, arrival: Arrival): boolean {
  if (bytes.length < 16) return false;
  const version = u16(bytes, 0);
  if (version === 9) return decodeNetflowV9(bytes, arrival);
  if (version === 10) return decodeIpfix(bytes, arrival);
  if (version === 5) return decodeNetflowV5(bytes, arrival);
  // The version of sFlow is a 32-bit word.
  return u32(bytes, 0) === 5 ? decodeSflow(bytes, arrival) : false;
}
