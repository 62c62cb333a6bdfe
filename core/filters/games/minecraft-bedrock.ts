import { type Filter, GAME_LIMITS, type Signature, signature } from '../filter.ts';

/** The magic of RakNet: in all packets before a connection. */
const RAKNET_MAGIC = '00ffff00fefefefefdfdfdfd12345678';

/** Pings, and the two requests that open a connection; the first is padded to find the MTU. */
export const RAKNET_GREETINGS: readonly Signature[] = [
  ...['01', '02'].map((id) =>
    signature(
      [
        { offset: 0, hex: id },
        { offset: 9, hex: RAKNET_MAGIC },
      ],
      25,
      33,
    ),
  ),
  signature(`05${RAKNET_MAGIC}`, 18, 1492),
  signature(`07${RAKNET_MAGIC}`, 34, 64),
];

/** The answer to the second request. */
export const RAKNET_ACCEPTED: readonly Signature[] = [signature(`08${RAKNET_MAGIC}`, 28)];

/** Signatures of a connection: frames, and acknowledgements of either kind. */
export const RAKNET_DATA: readonly Signature[] = [
  signature([{ offset: 0, hex: '80', mask: 'e0' }], 4),
  signature([{ offset: 0, hex: 'a0', mask: 'e0' }], 4),
  signature([{ offset: 0, hex: 'c0', mask: 'e0' }], 4),
];

export const minecraftBedrock = {
  type: 'minecraft-bedrock',
  name: 'Minecraft: Bedrock Edition',
  category: 'games',
  description: 'Minecraft: Bedrock Edition servers, and Geyser, by the handshake of RakNet.',
  usualPorts: [19132],
  udp: {
    greetings: RAKNET_GREETINGS,
    replies: RAKNET_ACCEPTED,
    data: RAKNET_DATA,
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
