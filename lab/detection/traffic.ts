import type { Vector } from '@portcullis/core/attacks/vectors.ts';

/** Packets a second of one kind to one or more addresses, for a time. */
export interface Stream {
  readonly vector: Vector;
  readonly bytes: number;
  readonly to: readonly string[];
  /** In all, over all addresses alike. */
  readonly pps: number;
  readonly fromS: number;
  readonly toS: number;
  /** Grows from nothing to `pps` in so long a time. */
  readonly rampS?: number;
  /** On for so long, then off for so long, by turns. */
  readonly pulseS?: readonly [on: number, off: number];
  /** The share of packets of `tcp_ack`: they acknowledge what the address sends, and the counter sees that. */
  readonly receipts?: boolean;
}

/** The rate at a moment. */
export function rateAt(stream: Stream, atS: number): number {
  const { fromS, toS, pps, rampS = 0, pulseS } = stream;
  if (atS < fromS || atS >= toS) return 0;
  const since = atS - fromS;
  if (pulseS !== undefined && since % (pulseS[0] + pulseS[1]) >= pulseS[0]) return 0;
  return rampS > 0 && since < rampS ? (pps * since) / rampS : pps;
}

/** The lengths of real packets of a vector, IP header included. */
export const BYTES: Readonly<Partial<Record<Vector, number>>> = {
  tcp_syn: 60,
  tcp_syn_ack: 60,
  tcp_ack: 52,
  tcp_data: 1400,
  tcp_rst: 40,
  tcp_other: 40,
  udp: 128,
  icmp: 84,
  gre: 512,
  fragment: 1500,
  udp_chargen: 1020,
  udp_dns: 1400,
  udp_portmap: 486,
  udp_ntp: 468,
  udp_netbios: 229,
  udp_snmp: 1400,
  udp_cldap: 1400,
  udp_rip: 532,
  udp_mssql: 629,
  udp_ssdp: 330,
  udp_wsd: 1200,
  udp_coap: 900,
  udp_memcached: 1400,
  udp_arms: 1048,
  udp_plex: 290,
};
