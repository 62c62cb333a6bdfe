import { type Filter, signature } from '../filter.ts';

/** https://www.wireguard.com/protocol/: a kind, three reserved bytes, and the indices of the peers. */
const INITIATION = signature('01000000', 148, 148);
const RESPONSE = signature('02000000', 92, 92);
const COOKIE = signature('03000000', 64, 64);
const TRANSPORT = signature('04000000', 32);

export const wireguard = {
  type: 'wireguard',
  name: 'WireGuard',
  category: 'protocols',
  description:
    'WireGuard tunnels, by the handshake, which the server answers only for a key that it knows.',
  usualPorts: [51820],
  udp: {
    greetings: [INITIATION],
    // Either comes only to who has the keys.
    replies: [RESPONSE, TRANSPORT],
    // Of either side: handshakes, a cookie, and transport.
    data: [RESPONSE, COOKIE, TRANSPORT],
    roaming: {
      kinds: [
        {
          // A peer whose address changed goes on sending, or answers the server's own start.
          packets: [RESPONSE, TRANSPORT],
          // Neither is answered without its key: a cookie, which a forged response causes under load, is none of these.
          replies: [RESPONSE, TRANSPORT],
        },
      ],
      rates: { sourcePps: 10, budgetPps: 500 },
    },
    rates: { unvalidatedPps: 10, validatedPps: 100_000 },
    budgetPps: 500,
    // Keys last 180 s; after that there is a new handshake.
    validatedSeconds: 190,
  },
  tcp: null,
} as const satisfies Filter;
