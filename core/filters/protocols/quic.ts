import { type Filter, signature } from '../filter.ts';

/** RFC 9000, 17.2: a long header while a connection opens. Of version 1: Initial, 0-RTT, Handshake. */
const INITIAL = 'c0';
const EARLY = 'd0';
const HANDSHAKE = 'e0';
/** RFC 9369, 3.2: in version 2 the same kinds have other numbers, which are those of 0-RTT and Handshake above. */
const INITIAL_V2 = [
  { offset: 0, hex: 'd0', mask: 'f0' },
  { offset: 1, hex: '6b3343cf' },
] as const;
const HANDSHAKE_V2 = [
  { offset: 0, hex: 'f0', mask: 'f0' },
  { offset: 1, hex: '6b3343cf' },
] as const;
/** Of the peers, who may have agreed that the fixed bit means nothing (RFC 9287): the highest bit alone tells. */
const LONG = { offset: 0, hex: '80', mask: '80' } as const;
const SHORT = { offset: 0, hex: '00', mask: '80' } as const;

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
      signature(INITIAL_V2, 1200),
      signature(HANDSHAKE_V2, 21),
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
