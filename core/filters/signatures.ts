import { ascii, type Opening, opening, type Signature, signature } from './filter.ts';

/** What several filters share. */

/** Of the Source and Quake engines: a packet outside of a connection begins with it. */
export const CONNECTIONLESS = 'ffffffff';

export function connectionless(text: string): string {
  return `${CONNECTIONLESS}${ascii(text)}`;
}

/** Queries of Valve's server query protocol: information, players and rules, each with or without a challenge. */
export const SOURCE_QUERIES: readonly Signature[] = [
  signature(`${connectionless('TSource Engine Query')}00`, 25, 29),
  signature(connectionless('U'), 9, 9),
  signature(connectionless('V'), 9, 9),
  signature(connectionless('W'), 5, 5),
];

/** Players and rules, which a server tells only to who returned its challenge; whole, or the first of several parts. */
export const SOURCE_ANSWERS: readonly Signature[] = [
  signature(connectionless('D'), 6),
  signature(connectionless('E'), 7),
];

/** Of RakNet: in all packets before a connection. */
const RAKNET_MAGIC = '00ffff00fefefefefdfdfdfd12345678';

/** Pings, and the two requests that open a connection; the first is padded to find the MTU. */
export const RAKNET_GREETINGS: readonly Signature[] = [
  ...['01', '02'].map((id) =>
    signature(
      [
        { offset: 0, hex: id },
        { offset: 9, hex: RAKNET_MAGIC },
      ],
      25,
      33,
    ),
  ),
  signature(`05${RAKNET_MAGIC}`, 18, 1492),
  signature(`07${RAKNET_MAGIC}`, 34, 64),
];

/** The answer to the second request. */
export const RAKNET_ACCEPTED: readonly Signature[] = [signature(`08${RAKNET_MAGIC}`, 28)];

/** Of a connection: frames, and acknowledgements of either kind. */
export const RAKNET_DATA: readonly Signature[] = [
  signature([{ offset: 0, hex: '80', mask: 'e0' }], 4),
  signature([{ offset: 0, hex: 'a0', mask: 'e0' }], 4),
  signature([{ offset: 0, hex: 'c0', mask: 'e0' }], 4),
];

/** A TLS record with a ClientHello. */
export const TLS_HELLO: readonly Opening[] = [
  opening([
    { offset: 0, hex: '1603' },
    { offset: 5, hex: '01' },
  ]),
];

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
