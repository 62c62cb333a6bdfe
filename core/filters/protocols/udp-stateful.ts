import type { Filter } from '../filter.ts';

export const udpStateful = {
  type: 'udp-stateful',
  name: 'UDP stateful',
  category: 'protocols',
  description:
    'Sources that the server has answered pass at their own rate; other sources pass only at a low one.',
  usualPorts: [],
  udp: {
    greetings: [],
    replies: [],
    data: [],
    rates: { unvalidatedPps: 20, validatedPps: 2000 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
