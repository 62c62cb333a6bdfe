import { isCounter, REVERSE } from './counters.ts';

/**
 * The fields of NetFlow v9 and IPFIX that are read, by number. Both formats share the numbers up to 127; above, only
 * IPFIX is registered. Counters of packets and bytes are in `counters.ts`. Sources: IANA, IPFIX Information Elements; Cisco, NetFlow version 9.
 */
export const FIELD = {
  octets: 1,
  packets: 2,
  protocol: 4,
  tcpFlags: 6,
  sourcePort: 7,
  source4: 8,
  inputInterface: 10,
  destinationPort: 11,
  destination4: 12,
  endUptime: 21,
  startUptime: 22,
  source6: 27,
  destination6: 28,
  icmpTypeCode4: 32,
  samplingInterval: 34,
  sampler: 48,
  samplerInterval: 50,
  flowDirection: 61,
  fragmentOffset: 88,
  /** Cisco's fields in version 9 for the IPFIX fields 315 and 312. */
  packetSection9: 104,
  packetSectionBytes9: 103,
  icmpTypeCode6: 139,
  startSeconds: 150,
  endSeconds: 151,
  startMilliseconds: 152,
  endMilliseconds: 153,
  startMicroseconds: 154,
  endMicroseconds: 155,
  startNanoseconds: 156,
  endNanoseconds: 157,
  startDeltaMicroseconds: 158,
  endDeltaMicroseconds: 159,
  durationMilliseconds: 161,
  durationMicroseconds: 162,
  icmpType4: 176,
  icmpType6: 178,
  fragmentFlags: 197,
  selector: 302,
  samplingPacketInterval: 305,
  samplingPacketSpace: 306,
  samplingSize: 309,
  samplingPopulation: 310,
  samplingProbability: 311,
  frameBytes: 312,
  ipSection: 313,
  frameSection: 315,
} as const;

/** The longest number; addresses and packet sections have other lengths. */
const MAX_NUMBER_BYTES = 8;
const ADDRESS_BYTES: Readonly<Record<number, number>> = {
  [FIELD.source4]: 4,
  [FIELD.destination4]: 4,
  [FIELD.source6]: 16,
  [FIELD.destination6]: 16,
};
const SECTIONS: readonly number[] = [FIELD.ipSection, FIELD.frameSection, FIELD.packetSection9];
const READ = new Set<number>(Object.values(FIELD));

const REVERSE_TCP_FLAGS = FIELD.tcpFlags + REVERSE;

/** A field to skip. No registered field has this number. */
export const SKIPPED = 0;
/** A scope of options data that is neither the whole exporter nor an interface, such as a line card. */
export const OTHER_SCOPE = 0x7fff;

/**
 * The field to read a template field as, or `SKIPPED` if its length is invalid. Of a field of variable length (`length` is
 * null) each record says the length.
 */
export function readAs(field: number, length: number | null): number {
  if (SECTIONS.includes(field) || field === OTHER_SCOPE) return field;
  if (!READ.has(field) && field !== REVERSE_TCP_FLAGS && !isCounter(field)) return SKIPPED;
  if (length === null) return field;
  const addressBytes = ADDRESS_BYTES[field];
  if (addressBytes !== undefined) return length === addressBytes ? field : SKIPPED;
  return length >= 1 && length <= MAX_NUMBER_BYTES ? field : SKIPPED;
}
