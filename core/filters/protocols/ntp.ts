import { type Filter, signature } from '../filter.ts';

export const ntp = {
  type: 'ntp',
  name: 'NTP',
  category: 'protocols',
  description:
    'Time servers: requests of clients, never the commands that reflectors are abused by.',
  usualPorts: [123],
  udp: {
    // Mode 3, of versions 1 to 4, with a signature or the extensions of NTS.
    greetings: [signature([{ offset: 0, hex: '03', mask: '07' }], 48, 1200)],
    replies: null,
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 20 },
    budgetPps: 20_000,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
