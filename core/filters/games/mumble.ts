import { type Filter, signature } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';
import { TLS_HELLO } from '../protocols/tls.ts';

export const mumble = {
  type: 'mumble',
  name: 'Mumble',
  category: 'games',
  description: 'Mumble servers: control by TLS on TCP, voice and pings on UDP.',
  usualPorts: [64738],
  udp: {
    greetings: [
      // The ping of server lists, which every source is answered by 24 bytes.
      signature('00000000', 12, 12),
      // An encrypted ping: a tag of four bytes and little more.
      signature([], 6, 23),
    ],
    // An encrypted ping is answered only to the holder of the key, which it got by TLS.
    replies: [signature([], 6, 23)],
    data: [signature([], 5, 1024)],
    rates: { unvalidatedPps: 20, validatedPps: 500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: { ...PROXIED, openings: TLS_HELLO },
} as const satisfies Filter;
