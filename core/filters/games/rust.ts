import type { Filter } from '../filter.ts';
import {
  RAKNET_ACCEPTED,
  RAKNET_DATA,
  RAKNET_GREETINGS,
  SOURCE_ANSWERS,
  SOURCE_QUERIES,
} from '../signatures.ts';

export const rust = {
  type: 'rust',
  name: 'Rust',
  category: 'games',
  description:
    'Rust servers: the game by the handshake of RakNet, and server queries on the same or their own port.',
  usualPorts: [28015, 28017],
  udp: {
    greetings: [...RAKNET_GREETINGS, ...SOURCE_QUERIES],
    replies: [...RAKNET_ACCEPTED, ...SOURCE_ANSWERS],
    data: RAKNET_DATA,
    rates: { unvalidatedPps: 20, validatedPps: 2000 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
