import { connectionless, type Filter, GAME_LIMITS, signature } from '../filter.ts';

export const quake3 = {
  type: 'quake3',
  name: 'Quake III engine',
  category: 'games',
  description: 'Quake III Arena, OpenArena, Call of Duty and others on id Tech 3.',
  usualPorts: [27960, 28960],
  udp: {
    greetings: [
      signature(connectionless('getstatus'), 13, 128),
      signature(connectionless('getinfo'), 11, 128),
      signature(connectionless('getchallenge'), 16, 128),
      signature(connectionless('connect '), 24, 1400),
    ],
    // Who is connected has returned the challenge.
    replies: [signature(connectionless('connectResponse'), 19)],
    data: [],
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
