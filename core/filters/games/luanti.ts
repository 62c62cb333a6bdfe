import { type Filter, signature } from '../filter.ts';

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
    // Its greeting, to who wrote back as the peer that it gave: reliable, and the command 2.
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
    rates: { unvalidatedPps: 20, validatedPps: 1000 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
