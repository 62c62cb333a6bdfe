import { type Filter, GAME_LIMITS } from '../filter.ts';
import { RAKNET_ACCEPTED, RAKNET_DATA, RAKNET_GREETINGS } from './minecraft-bedrock.ts';
import { SOURCE_ANSWERS, SOURCE_QUERIES } from './source.ts';

export const rust = {
  type: 'rust',
  name: 'Rust',
  category: 'games',
  description:
    'Rust servers: the game by the handshake of RakNet, and server queries on the same port or one of their own.',
  usualPorts: [28015, 28017],
  udp: {
    greetings: [...RAKNET_GREETINGS, ...SOURCE_QUERIES],
    replies: [...RAKNET_ACCEPTED, ...SOURCE_ANSWERS],
    data: RAKNET_DATA,
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
