import type { Filter, TcpFilter } from '../filter.ts';

/** Everything that every filter of a TCP port does: what a filter of a protocol adds is its openings. */
export const PROXIED = {
  openings: [],
  synProxy: true,
  validatedPps: 20_000,
  connections: { perSecond: 20, concurrent: 200 },
} as const satisfies TcpFilter;

export const tcpSynProxy = {
  type: 'tcp-syn-proxy',
  name: 'TCP SYN proxy',
  category: 'protocols',
  description:
    'The edge completes the TCP handshake before the server sees a connection, so spoofed SYNs never reach it.',
  usualPorts: [],
  udp: null,
  tcp: PROXIED,
} as const satisfies Filter;
