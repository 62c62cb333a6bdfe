import type { Filter } from '../filter.ts';
import { HTTP_METHODS } from '../signatures.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

export const http = {
  type: 'http',
  name: 'HTTP',
  category: 'protocols',
  description: 'Web servers without TLS: a connection begins with a request.',
  usualPorts: [80, 8080],
  udp: null,
  tcp: { ...PROXIED, openings: HTTP_METHODS },
} as const satisfies Filter;
