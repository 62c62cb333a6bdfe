import { type Filter, signature } from '../filter.ts';

/** The header is long while a connection opens: the first bit; the kind in the third and fourth. */
export const quic = {
  type: 'quic',
  name: 'QUIC and HTTP/3',
  category: 'protocols',
  description: 'QUIC servers such as HTTP/3, by the first packets of a connection.',
  usualPorts: [443],
  udp: {
    greetings: [
      // Initial packets are padded (RFC 9000, 14.1); what finishes the handshake is not.
      signature([{ offset: 0, hex: 'c0', mask: 'f0' }], 1200),
      signature([{ offset: 0, hex: 'e0', mask: 'f0' }], 21),
    ],
    // A short header: the server has the client's address proven, or begins to answer within three times its bytes.
    replies: [signature([{ offset: 0, hex: '40', mask: 'c0' }], 21)],
    data: [
      signature([{ offset: 0, hex: '40', mask: 'c0' }], 21),
      signature([{ offset: 0, hex: 'c0', mask: 'c0' }], 21),
    ],
    rates: { unvalidatedPps: 50, validatedPps: 20_000 },
    budgetPps: 2000,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
