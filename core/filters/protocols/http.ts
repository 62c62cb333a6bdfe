import { ascii, type Filter, type Opening, opening } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/**
 * Methods: https://www.iana.org/assignments/http-methods, those of UPnP and of caches and streams, and the preface of HTTP/2. A word
 * of any letters would let every protocol of lines pass.
 */
const METHODS = `ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD LABEL LINK LOCK M-SEARCH MERGE
  MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE NOTIFY OPTIONS ORDERPATCH PATCH POST PROPFIND PROPPATCH PURGE PUT
  QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UNSUBSCRIBE UPDATE UPDATEREDIRECTREF
  VERSION-CONTROL`;

/** A method; or an empty line, which servers ignore (RFC 9112, 2.2), and a letter. */
export const HTTP_METHODS: readonly Opening[] = [
  ...METHODS.split(/\s+/).map((method) => `${method} `),
  'PRI * HTTP/2.0',
]
  .map((start) => opening(ascii(start)))
  .concat(
    opening([
      { offset: 0, hex: ascii('\r\n') },
      { offset: 2, hex: '40', mask: 'e0' },
    ]),
  );

export const http = {
  type: 'http',
  name: 'HTTP',
  category: 'protocols',
  description: 'Web servers without TLS: a connection begins with a request.',
  usualPorts: [80, 8080],
  udp: null,
  tcp: { ...PROXIED, openings: HTTP_METHODS },
} as const satisfies Filter;
