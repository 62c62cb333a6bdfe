import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { decodeIpfix } from './ipfix.ts';
import { decodeNetflowV5 } from './netflow-v5.ts';
import { decodeNetflowV9 } from './netflow-v9.ts';
import { decodeSflow } from './sflow.ts';

/** Hands on every record of a datagram in any of the four formats. Never throws, whatever the datagram holds. */
export function decode(bytes: Uint8Array, arrival: Arrival): void {
  const { counters } = arrival.exporter;
  counters.datagrams++;
  if (!decodeFormat(bytes, arrival)) counters.malformed++;
}

/** False: something in it does not hold what it says. */
function decodeFormat(bytes: Uint8Array, arrival: Arrival): boolean {
  if (bytes.length < 16) return false;
  const version = u16(bytes, 0);
  if (version === 9) return decodeNetflowV9(bytes, arrival);
  if (version === 10) return decodeIpfix(bytes, arrival);
  if (version === 5) return decodeNetflowV5(bytes, arrival);
  // sFlow's version is a word of four bytes.
  return u32(bytes, 0) === 5 ? decodeSflow(bytes, arrival) : false;
}
