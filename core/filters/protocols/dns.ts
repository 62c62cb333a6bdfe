import { type Filter, opening, signature } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/**
 * A query of one question (RFC 1035, 4.1.1): flags at 2, of which only RD, AD and CD are of queries, then the counts: an
 * IXFR has a record of the zone (RFC 1995), and up to three more are of EDNS and signatures. The first label has at most
 * 63 bytes. On TCP behind a length of two bytes.
 */
function query(start: number) {
  return [
    { offset: start + 2, hex: '0000', mask: 'fecf' },
    { offset: start + 4, hex: '0001000000000000', mask: 'fffffffffffefffc' },
    { offset: start + 12, hex: '00', mask: 'c0' },
  ];
}

/** Opcodes of RFC 1996 and 2136, of one zone: a NOTIFY may have the new record beside it, an UPDATE has what changes. */
const NOTIFY = '20';
const UPDATE = '28';
function ofZone(start: number, opcode: string) {
  return [
    { offset: start + 2, hex: opcode, mask: 'f8' },
    { offset: start + 4, hex: '0001' },
  ];
}

export const dns = {
  type: 'dns',
  name: 'DNS',
  category: 'protocols',
  description:
    'Authoritative name servers and resolvers: queries of one question, notifications and updates of zones.',
  usualPorts: [53],
  udp: {
    greetings: [
      signature(query(0), 17, 512),
      signature(ofZone(0, NOTIFY), 17, 512),
      signature(ofZone(0, UPDATE), 17, 1232),
    ],
    // A server answers every source at once, and clients change ports, so no source proves its address.
    replies: null,
    data: [],
    rates: { unvalidatedPps: 100, validatedPps: 100 },
    budgetPps: 20_000,
    validatedSeconds: 60,
  },
  tcp: {
    ...PROXIED,
    openings: [query(2), ofZone(2, NOTIFY), ofZone(2, UPDATE)].map((one) => opening(one)),
  },
} as const satisfies Filter;
