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

export const samp = {
  type: 'samp',
  name: 'SA-MP and open.mp',
  category: 'games',
  description: 'San Andreas Multiplayer servers: server queries, and the handshake of the game.',
  usualPorts: [7777],
  udp: {
    greetings: [
      ...QUERIES,
      // Asks for a connection, then again with the cookie: three bytes and a checksum, scrambled by the port.
      signature([], 4, 4),
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
