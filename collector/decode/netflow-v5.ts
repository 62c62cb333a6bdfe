import { u16, u32 } from '@portcullis/core/net/bytes.ts';
import type { Arrival } from '../exporter/exporter.ts';
import { UNREPORTED } from '../exporter/interfaces.ts';
import { clearRecord, setTimes } from '@portcullis/core/attacks/flow-record.ts';

/**
 * NetFlow version 5: a header of 24 bytes and up to 30 records of 48 bytes, IPv4 only.
 * Source: Cisco, NetFlow Export Datagram Format.
 */
const HEADER_BYTES = 24;
const RECORD_BYTES = 48;
const MAX_RECORDS = 30;

export function decodeNetflowV5(bytes: Uint8Array, arrival: Arrival): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const count = u16(bytes, 2);
  const uptimeMs = u32(bytes, 4);
  if (count > MAX_RECORDS || HEADER_BYTES + count * RECORD_BYTES > bytes.length) return false;
  // Engine type and id: each engine of a router has its own sequence.
  const { exporter, port, nowMs } = arrival;
  const stream = `5/${port}/${u16(bytes, 20)}`;
  exporter.sequences.note(stream, u32(bytes, 16), count);
  const { delayMs } = exporter.clock.read(stream, nowMs, uptimeMs);
  // Two mode bits precede the interval.
  const rate = exporter.rate(u16(bytes, 22) & 0x3fff);
  const { record } = exporter;
  for (let index = 0; index < count; index++) {
    const at = HEADER_BYTES + index * RECORD_BYTES;
    const packets = u32(bytes, at + 16);
    if (packets === 0) {
      exporter.counters.withoutTraffic++;
      continue;
    }
    clearRecord(record);
    record.family = 4;
    record.source[3] = u32(bytes, at);
    record.destination[3] = u32(bytes, at + 4);
    record.packets = packets * rate;
    record.bytes = u32(bytes, at + 20) * rate;
    record.samplingRate = rate;
    // The clock wraps after 49 days, so differences are taken modulo 2^32.
    const first = u32(bytes, at + 24);
    const last = u32(bytes, at + 28);
    setTimes(record, (uptimeMs - last) | 0, (last - first) | 0, delayMs);
    record.protocol = bytes[at + 38] as number;
    readPorts(bytes, at, record);
    // The format has no direction: routers export ingress.
    exporter.pass(record, arrival, UNREPORTED, 0);
  }
  return true;
}

function readPorts(bytes: Uint8Array, at: number, record: Arrival['exporter']['record']): void {
  if (record.protocol === 1) {
    // The destination port field holds the ICMP type and code.
    record.icmpType = bytes[at + 34] as number;
    return;
  }
  record.sourcePort = u16(bytes, at + 32);
  record.destinationPort = u16(bytes, at + 34);
  record.tcpFlags = bytes[at + 37] as number;
}
