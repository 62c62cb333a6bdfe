import type { Filter } from './filter.ts';

export const tcpSynProxy = {
  type: 'tcp-syn-proxy',
  name: 'TCP SYN proxy',
  category: 'protocols',
  transport: 'tcp',
  description:
    'The edge completes the TCP handshake before the server sees a connection, so spoofed SYNs never reach it.',
  greetings: [],
  rates: { unvalidatedPps: 20, validatedPps: 20_000 },
  validatedSeconds: 60,
  synProxy: true,
} as const satisfies Filter;
