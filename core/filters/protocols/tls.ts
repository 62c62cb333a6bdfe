import type { Filter } from '../filter.ts';
import { TLS_HELLO } from '../signatures.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

export const tls = {
  type: 'tls',
  name: 'TLS',
  category: 'protocols',
  description: 'Servers that speak TLS from the first byte, such as HTTPS.',
  usualPorts: [443],
  udp: null,
  tcp: { ...PROXIED, openings: TLS_HELLO },
} as const satisfies Filter;
