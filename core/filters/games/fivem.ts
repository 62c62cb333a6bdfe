import { connectionless, type Filter, GAME_LIMITS, type Signature, signature } from '../filter.ts';
import { HTTP_METHODS } from '../protocols/http.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';
import { TLS_HELLO } from '../protocols/tls.ts';

/**
 * A command of ENet. The header is the peer and its flags; with the first bit set the time of sending follows, and the command
 * stands two bytes later.
 */
function command(hex: string, isTimed: boolean, lengths: readonly [number, number?]): Signature {
  const flag = { offset: 0, hex: isTimed ? '80' : '00', mask: '80' };
  return signature([flag, { offset: isTimed ? 4 : 2, hex }], ...lengths);
}

export const fivem = {
  type: 'fivem',
  name: 'FiveM and RedM',
  category: 'games',
  description: 'FiveM and RedM servers: server queries and ENet on UDP, HTTP and TLS on TCP.',
  usualPorts: [30120],
  udp: {
    greetings: [
      signature(connectionless('getinfo'), 11, 128),
      // Connects, then acknowledges that the server verified it, alone or with what it sends next.
      command('82ff', true, [48, 64]),
      command('01ff', false, [10, 64]),
      command('01ff', true, [12, 64]),
    ],
    // Of a connection: an acknowledgement, a ping, or data. Never the verification, which a forged address causes too.
    replies: [
      command('01', false, [10]),
      command('01', true, [12]),
      command('85', true, [8]),
      command('86', true, [10]),
    ],
    data: [],
    ...GAME_LIMITS,
  },
  tcp: { ...PROXIED, openings: [...HTTP_METHODS, ...TLS_HELLO] },
} as const satisfies Filter;
