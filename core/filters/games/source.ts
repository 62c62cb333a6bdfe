import { connectionless, type Filter, GAME_LIMITS, type Signature, signature } from '../filter.ts';

/** Queries of Valve's server query protocol: information, players and rules, each with or without a challenge. */
export const SOURCE_QUERIES: readonly Signature[] = [
  signature(`${connectionless('TSource Engine Query')}00`, 25, 29),
  signature(connectionless('U'), 9, 9),
  signature(connectionless('V'), 9, 9),
  signature(connectionless('W'), 5, 5),
];

/** Players and rules, which the server sends only after its challenge was returned. */
export const SOURCE_ANSWERS: readonly Signature[] = [
  signature(connectionless('D'), 6),
  signature(connectionless('E'), 7),
];

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
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
