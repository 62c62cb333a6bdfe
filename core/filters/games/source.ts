import { type Filter, signature } from '../filter.ts';
import { connectionless, SOURCE_ANSWERS, SOURCE_QUERIES } from '../signatures.ts';

export const source = {
  type: 'source',
  name: 'Source engine',
  category: 'games',
  description:
    'Counter-Strike, Garry’s Mod, Team Fortress 2 and others on Valve’s engines, with their server queries.',
  usualPorts: [27015],
  udp: {
    greetings: [
      ...SOURCE_QUERIES,
      // Asks for a challenge, and connects with it; then of GoldSrc, whose words are longer.
      signature(connectionless('q'), 9, 64),
      signature(connectionless('k'), 24, 1400),
      signature(connectionless('getchallenge'), 16, 64),
      signature(connectionless('connect'), 16, 1400),
    ],
    replies: [...SOURCE_ANSWERS, signature(connectionless('B'), 5)],
    // The channel of a connection begins with a counter and is encrypted by some games.
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 1000 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
