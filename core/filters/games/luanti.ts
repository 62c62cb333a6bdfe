import { type Filter, GAME_LIMITS, signature } from '../filter.ts';

const PROTOCOL = '4f457403';

/** A header of seven bytes: protocol, peer and channel; then the kind of packet. */
export const luanti = {
  type: 'luanti',
  name: 'Luanti (Minetest)',
  category: 'games',
  description: 'Luanti servers, formerly Minetest.',
  usualPorts: [30000],
  udp: {
    greetings: [
      // To no peer yet, and the first words with the peer that the server gave.
      signature(`${PROTOCOL}0000`, 8, 64),
      signature(PROTOCOL, 8, 256),
    ],
    // TOCLIENT_HELLO, sent to a client that used its assigned peer number: reliable, command 2.
    replies: [
      signature(
        [
          { offset: 0, hex: `${PROTOCOL}0001` },
          { offset: 7, hex: '03' },
          { offset: 10, hex: '010002' },
        ],
        13,
      ),
    ],
    data: [signature(PROTOCOL, 8)],
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
