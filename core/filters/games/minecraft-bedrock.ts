import type { Filter } from '../filter.ts';
import { RAKNET_ACCEPTED, RAKNET_DATA, RAKNET_GREETINGS } from '../signatures.ts';

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
    rates: { unvalidatedPps: 20, validatedPps: 1000 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
