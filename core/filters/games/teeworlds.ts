import { type Filter, GAME_LIMITS, signature } from '../filter.ts';

/** 0.7: a header of seven bytes, flags first and a token last, then the control message. */
export const teeworlds = {
  type: 'teeworlds',
  name: 'Teeworlds and DDNet',
  category: 'games',
  description: 'Teeworlds 0.6 and 0.7 and DDNet servers, with their server list.',
  usualPorts: [8303],
  udp: {
    greetings: [
      // 0.7: asks for a token, long enough that the answer is no amplification; connects with it; asks for information.
      signature(
        [
          { offset: 0, hex: '04' },
          { offset: 3, hex: 'ffffffff05' },
        ],
        512,
        1400,
      ),
      signature(
        [
          { offset: 0, hex: '04' },
          { offset: 7, hex: '01' },
        ],
        12,
        1400,
      ),
      signature(
        [
          { offset: 0, hex: '21' },
          { offset: 9, hex: 'ffffffff67696533' },
        ],
        18,
        64,
      ),
      // 0.6: connects, with or without a token, and accepts; asks for information, in either form.
      signature('10000001', 4, 520),
      signature('10000003', 4, 520),
      signature('ffffffffffffffffffff67696533', 15, 16),
      signature(
        [
          { offset: 0, hex: '7865' },
          { offset: 6, hex: 'ffffffff67696533' },
        ],
        15,
        16,
      ),
    ],
    replies: [
      // 0.7: accepted, which takes the token. 0.6: the first of the game, which takes the client's accept.
      signature(
        [
          { offset: 0, hex: '04', mask: 'fc' },
          { offset: 7, hex: '02' },
        ],
        8,
        16,
      ),
      signature([{ offset: 0, hex: '00', mask: '3f' }], 12),
    ],
    data: [],
    ...GAME_LIMITS,
  },
  tcp: null,
} as const satisfies Filter;
