import { type Filter, signature } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';
import { connectionless, HTTP_METHODS, TLS_HELLO } from '../signatures.ts';

/** ENet: a header with the peer and the time, then the command; the first two bits of the header are flags. */
export const fivem = {
  type: 'fivem',
  name: 'FiveM and RedM',
  category: 'games',
  description: 'FiveM and RedM servers: server queries and ENet on UDP, HTTP and TLS on TCP.',
  usualPorts: [30120],
  udp: {
    greetings: [
      signature(connectionless('getinfo'), 11, 128),
      // Connect, to no peer yet.
      signature(
        [
          { offset: 0, hex: '8fff' },
          { offset: 4, hex: '82ff' },
        ],
        48,
        64,
      ),
      // Acknowledges that the server verified it.
      signature(
        [
          { offset: 0, hex: '80', mask: 'f0' },
          { offset: 4, hex: '01ff' },
        ],
        12,
        64,
      ),
    ],
    // Anything of a connection but the verification, which who only forges an address would cause: a ping, an
    // acknowledgement, or data.
    replies: [
      signature([{ offset: 4, hex: '85' }], 8),
      signature([{ offset: 4, hex: '01' }], 12),
      signature([{ offset: 2, hex: '01' }], 10),
      signature([{ offset: 4, hex: '86' }], 10),
    ],
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 1500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: { ...PROXIED, openings: [...HTTP_METHODS, ...TLS_HELLO] },
} as const satisfies Filter;
