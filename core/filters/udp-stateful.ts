import type { Filter } from './filter.ts';

export const udpStateful = {
  type: 'udp-stateful',
  name: 'UDP stateful',
  category: 'protocols',
  transport: 'udp',
  description:
    'Sources that the server has answered pass at their own rate; everybody else only at a low one.',
  greetings: [],
  replies: [],
  rates: { unvalidatedPps: 20, validatedPps: 2000 },
  budgetPps: 500,
  validatedSeconds: 60,
  synProxy: false,
  connections: null,
} as const satisfies Filter;
