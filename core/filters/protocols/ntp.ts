import { type Filter, type Signature, signature } from '../filter.ts';

/**
 * RFC 5905, 7.3: a request of a client (mode 3) of versions 1 to 4, of any leap indicator, then a stratum below 32. With a
 * signature or the extensions of NTS.
 */
const REQUESTS: readonly Signature[] = [
  ['0b', '3f'],
  ['13', '37'],
  ['23', '3f'],
].map(([first = '', mask = '']) =>
  signature(
    [
      { offset: 0, hex: first, mask },
      { offset: 1, hex: '00', mask: 'e0' },
    ],
    48,
    1200,
  ),
);

export const ntp = {
  type: 'ntp',
  name: 'NTP',
  category: 'protocols',
  description:
    'Time servers: requests of clients, never the commands that reflectors are abused by.',
  usualPorts: [123],
  udp: {
    greetings: REQUESTS,
    replies: null,
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 20 },
    budgetPps: 20_000,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
