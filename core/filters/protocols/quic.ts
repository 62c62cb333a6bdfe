import { type Filter, signature } from '../filter.ts';

/** RFC 9000, 17.2: a long header while a connection opens. Of version 1: Initial, 0-RTT, Handshake. */
const INITIAL = 'c0';
const EARLY = 'd0';
const HANDSHAKE = 'e0';
const LONG = { offset: 0, hex: 'c0', mask: 'c0' } as const;
const SHORT = { offset: 0, hex: '40', mask: 'c0' } as const;

export const quic = {
  type: 'quic',
  name: 'QUIC and HTTP/3',
  category: 'protocols',
  description: 'QUIC servers such as HTTP/3, by the first packets of a connection.',
  usualPorts: [443],
  udp: {
    greetings: [
      // Datagrams with Initial packets are padded (RFC 9000, 14.1); what finishes the handshake is not.
      signature([{ offset: 0, hex: INITIAL, mask: 'f0' }], 1200),
      signature([{ offset: 0, hex: EARLY, mask: 'f0' }], 21),
      signature([{ offset: 0, hex: HANDSHAKE, mask: 'f0' }], 21),
    ],
    // Packets of an open connection.
    replies: [signature([SHORT], 21)],
    data: [signature([SHORT], 21), signature([LONG], 21)],
    rates: { unvalidatedPps: 50, validatedPps: 20_000 },
    budgetPps: 2000,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
