import { type Filter, opening, signature } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** A query of one question: flags at 2, then the counts. On TCP behind a length of two bytes. */
function query(start: number) {
  return [
    { offset: start + 2, hex: '00', mask: 'f8' },
    { offset: start + 4, hex: '00010000' },
  ];
}

export const dns = {
  type: 'dns',
  name: 'DNS',
  category: 'protocols',
  description:
    'Authoritative name servers and resolvers: queries of one question, and nothing else.',
  usualPorts: [53],
  udp: {
    greetings: [signature(query(0), 17, 512)],
    // A server answers every source at once, and clients change ports, so no source proves its address.
    replies: null,
    data: [],
    rates: { unvalidatedPps: 100, validatedPps: 100 },
    budgetPps: 20_000,
    validatedSeconds: 60,
  },
  tcp: { ...PROXIED, openings: [opening(query(2))] },
} as const satisfies Filter;
