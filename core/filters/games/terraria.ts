import { ascii, type Filter, opening } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';

export const terraria = {
  type: 'terraria',
  name: 'Terraria',
  category: 'games',
  description: 'Terraria and tModLoader servers, by the version that a client says first.',
  usualPorts: [7777],
  udp: null,
  tcp: {
    ...PROXIED,
    // A length in two bytes, the low one first, packet 1, and a text of a length that fits in one byte.
    openings: ['Terraria', 'tModLoader'].map((word) =>
      opening([
        { offset: 1, hex: '0001' },
        { offset: 4, hex: ascii(word) },
      ]),
    ),
  },
} as const satisfies Filter;
