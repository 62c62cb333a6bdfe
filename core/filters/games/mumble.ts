import { type Filter, signature } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';
import { TLS_HELLO } from '../signatures.ts';

export const mumble = {
  type: 'mumble',
  name: 'Mumble',
  category: 'games',
  description: 'Mumble servers: control by TLS on TCP, voice and pings on UDP.',
  usualPorts: [64738],
  udp: {
    greetings: [
      // The ping of server lists, and an encrypted one: a tag of four bytes and little more.
      signature('00000000', 12, 12),
      signature([], 6, 32),
    ],
    // Only who has the key of a session on TCP is answered by an encrypted ping.
    replies: [signature([], 6, 23)],
    data: [signature([], 5, 1024)],
    rates: { unvalidatedPps: 20, validatedPps: 500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: { ...PROXIED, openings: TLS_HELLO },
} as const satisfies Filter;
