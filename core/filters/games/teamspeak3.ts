import { ascii, type Filter, signature } from '../filter.ts';

/** Steps of the start: behind the mark, packet 101, client 0 and kind 0x88, then a version of four bytes and the step. */
const STEPS = ['00', '02', '04'].map((step) =>
  signature(
    [
      { offset: 0, hex: `${ascii('TS3INIT1')}0065000088` },
      { offset: 17, hex: step },
    ],
    34,
    700,
  ),
);

export const teamspeak3 = {
  type: 'teamspeak3',
  name: 'TeamSpeak 3',
  category: 'games',
  description:
    'Voice of TeamSpeak 3 servers, by the puzzle that a client solves before it connects.',
  usualPorts: [9987],
  udp: {
    greetings: STEPS,
    // A command: behind the mark and the number of the packet. It comes only after the puzzle.
    replies: [signature([{ offset: 10, hex: '02', mask: '0f' }], 13)],
    data: [signature([], 13, 600)],
    rates: { unvalidatedPps: 20, validatedPps: 500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
