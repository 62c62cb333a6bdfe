import {
  attacked,
  burst,
  CARPET,
  FROM_S,
  HOST,
  hosts,
  LENGTH_S,
  legitimate,
  steady,
  THRESHOLDS,
  type Trace,
  usual,
} from './trace.ts';
import type { Stream } from './traffic.ts';

const BESIDE = { ...CARPET, group: 'carpet bombing beside a busy address' } as const;
const spread = (factor: number): Stream =>
  burst('udp', factor * THRESHOLDS.pps, { to: hosts(200) });
/** With what the server usually gets, 0.9 x. */
const ALMOST_PPS = 15_000;
const attacks = [
  attacked(
    'UDP over 200 addresses, 1.2 x, beside a server at 0.9 x',
    'udp_flood',
    1.2,
    [steady('udp', ALMOST_PPS, [HOST[4]]), spread(1.2)],
    BESIDE,
  ),
  attacked(
    'UDP over 200 addresses, 2.5 x, beside a server at 0.9 x',
    'udp_flood',
    2.5,
    [steady('udp', ALMOST_PPS, [HOST[4]]), spread(2.5)],
    BESIDE,
  ),
  attacked(
    'UDP over 200 addresses, 2.5 x, and a quarter at one, 0.9 x',
    'udp_flood',
    2.5,
    [burst('udp', ALMOST_PPS), spread(2.5)],
    BESIDE,
  ),
  attacked(
    'UDP over 200 addresses, 2 x, beside a server at 3 x, which may get 5 x',
    'udp_flood',
    2,
    [steady('udp', 55_000, [HOST[4]]), spread(2)],
    { ...BESIDE, hostPps: 100_000 },
  ),
  attacked(
    'UDP to three addresses, 0.94 x each',
    'udp_flood',
    1.8,
    [burst('udp', 3 * 0.94 * THRESHOLDS.pps, { to: hosts(3) })],
    BESIDE,
  ),
];

const peaceful = [
  legitimate('players rushing in, to 0.9 x at once, beside a busy server', [
    ...usual(),
    steady('udp', 0.8 * THRESHOLDS.pps, hosts(1)),
    burst('udp', ALMOST_PPS),
  ]),
  {
    ...legitimate('players rushing in, to 3 x at once, where 5 x are allowed', [
      ...usual(),
      burst('udp', 55_000),
    ]),
    hostPps: 100_000,
  },
  legitimate('players going from a busy server to sixty others', [
    ...usual(),
    { ...steady('udp', 15_000, [HOST[4]]), toS: FROM_S },
    burst('udp', 3000, { toS: LENGTH_S }),
    burst('udp', 12_000, { to: hosts(60), toS: LENGTH_S }),
  ]),
].map((trace) => ({ ...trace, group: 'no attack beside a busy address' }));

/** The time after which usual traffic of the server is known. */
const LEARNT_S = 600;

function later({ streams, attack, lengthS, ...trace }: Trace): Trace {
  return {
    ...trace,
    lengthS: lengthS + LEARNT_S,
    streams: streams.map((stream) => ({
      ...stream,
      fromS: stream.fromS === 0 ? 0 : stream.fromS + LEARNT_S,
      toS: stream.toS + LEARNT_S,
    })),
    attack: attack && {
      ...attack,
      fromS: attack.fromS + LEARNT_S,
      toS: attack.toS + LEARNT_S,
    },
  };
}

/** A prefix of which one address, or a few, get much of what it gets. */
export const beside: readonly Trace[] = [...attacks, ...peaceful].map(later);
