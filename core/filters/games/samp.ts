import { ascii, type Filter, signature } from '../filter.ts';

/** `SAMP`, the address and the port of the server, then what is asked. */
const QUERIES = ['i', 'r', 'c', 'd', 'p'].map((opcode) =>
  signature(
    [
      { offset: 0, hex: ascii('SAMP') },
      { offset: 10, hex: ascii(opcode) },
    ],
    11,
    15,
  ),
);

/**
 * The request for a connection (24) with the server's cookie: a checksum of the odd bits, then three bytes by a table, in
 * which 24 is `1e`; only those behind it depend on the port (`kyretardizeDatagram`, public in RakSAMP and others).
 */
const REQUEST = signature(
  [
    { offset: 0, hex: '00', mask: '55' },
    { offset: 1, hex: '1e' },
  ],
  4,
  4,
);

export const samp = {
  type: 'samp',
  name: 'SA-MP and open.mp',
  category: 'games',
  description: 'San Andreas Multiplayer servers: server queries, and the handshake of the game.',
  usualPorts: [7777],
  udp: {
    greetings: [
      ...QUERIES,
      // Without the cookie, then again with it.
      REQUEST,
    ],
    // The connection was accepted: the cookie was right.
    replies: [signature('19', 2, 2)],
    // What a client sends is scrambled too.
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
