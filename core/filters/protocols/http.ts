import { ascii, type Filter, type Opening, opening } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** The first letters of the methods of RFC 9110 and 5789, and of the preface of HTTP/2. */
export const HTTP_METHODS: readonly Opening[] = [
  'GET ',
  'HEAD ',
  'POST ',
  'PUT ',
  'DELETE ',
  'OPTIONS ',
  'PATCH ',
  'CONNECT ',
  'TRACE ',
  'PRI * HTTP/2.0',
].map((method) => opening(ascii(method)));

export const http = {
  type: 'http',
  name: 'HTTP',
  category: 'protocols',
  description: 'Web servers without TLS: a connection begins with a request.',
  usualPorts: [80, 8080],
  udp: null,
  tcp: { ...PROXIED, openings: HTTP_METHODS },
} as const satisfies Filter;
