import type { Filter } from './filter.ts';

export const tcpSynProxy = {
  type: 'tcp-syn-proxy',
  name: 'TCP SYN proxy',
  category: 'protocols',
  transport: 'tcp',
  description:
    'The edge completes the TCP handshake before the server sees a connection, so spoofed SYNs never reach it.',
  greetings: [],
  replies: [],
  rates: { unvalidatedPps: 20, validatedPps: 20_000 },
  budgetPps: 500,
  validatedSeconds: 60,
  synProxy: true,
  connections: { perSecond: 20, concurrent: 200 },
} as const satisfies Filter;
