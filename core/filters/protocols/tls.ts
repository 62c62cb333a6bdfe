import { type Filter, type Opening, opening } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** A TLS record with a ClientHello. */
export const TLS_HELLO: readonly Opening[] = [
  opening([
    { offset: 0, hex: '1603' },
    { offset: 5, hex: '01' },
  ]),
];

export const tls = {
  type: 'tls',
  name: 'TLS',
  category: 'protocols',
  description: 'Servers that speak TLS from the first byte, such as HTTPS.',
  usualPorts: [443],
  udp: null,
  tcp: { ...PROXIED, openings: TLS_HELLO },
} as const satisfies Filter;
