import { type Filter, opening } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';

export const minecraftJava = {
  type: 'minecraft-java',
  name: 'Minecraft: Java Edition',
  category: 'games',
  description:
    'Minecraft: Java Edition servers and proxies such as Velocity, by the handshake of the client.',
  usualPorts: [25565],
  udp: null,
  tcp: {
    ...PROXIED,
    openings: [
      // The handshake: a length of one or two bytes, the packet 0, and a version of two bytes or one.
      opening([
        { offset: 0, hex: '00', mask: '80' },
        { offset: 1, hex: '00' },
      ]),
      opening([
        { offset: 0, hex: '80', mask: '80' },
        { offset: 1, hex: '00', mask: '80' },
        { offset: 2, hex: '00' },
      ]),
      // The ping of clients before 1.7, which server lists still send.
      opening('fe01'),
    ],
  },
} as const satisfies Filter;
