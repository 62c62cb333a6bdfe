import { type Filter, opening } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';

/** A length in two bytes, the low one first, then the kind of packet. */
export const openttd = {
  type: 'openttd',
  name: 'OpenTTD',
  category: 'games',
  description: 'OpenTTD servers, by the first packet of a player or of a server list.',
  usualPorts: [3979],
  udp: null,
  tcp: {
    ...PROXIED,
    openings: ['02', '07'].map((kind) => opening([{ offset: 1, hex: `00${kind}` }])),
  },
} as const satisfies Filter;
