import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import { REFLECTORS, type Reflector, type Vector } from '@portcullis/core/attacks/vectors.ts';
import { beside } from './beside.ts';
import {
  attacked,
  burst,
  CARPET,
  FROM_S,
  HOST,
  hosts,
  legitimate,
  steady,
  THRESHOLDS,
  type Trace,
  usual,
} from './trace.ts';

const FACTORS = [1.2, 2, 10] as const;
const PLAIN = [
  ['udp', 'udp_flood'],
  ['tcp_syn', 'tcp_syn_flood'],
  ['tcp_syn_ack', 'tcp_syn_ack_flood'],
  ['tcp_ack', 'tcp_ack_flood'],
  ['tcp_rst', 'tcp_rst_flood'],
  ['icmp', 'icmp_flood'],
  ['gre', 'gre_flood'],
  ['fragment', 'ip_fragment_flood'],
  ['udp_dns', 'dns_amplification'],
  ['udp_ntp', 'ntp_amplification'],
  ['tcp_other', 'other_flood'],
] as const satisfies readonly (readonly [Vector, AttackType])[];

const oneVector = PLAIN.flatMap(([vector, type]) =>
  FACTORS.map((factor) =>
    attacked(`${type}, ${factor} x`, type, factor, [burst(vector, factor * THRESHOLDS.pps)]),
  ),
);

const LATER: readonly Reflector[] = ['arms', 'plex'];
const amplified = (Object.keys(REFLECTORS) as Reflector[])
  .filter((name) => name !== 'dns' && name !== 'ntp' && !LATER.includes(name))
  .map(amplifiedBy);
/** Behind all others, whose chance depends on their places. */
const later = LATER.map(amplifiedBy);

function amplifiedBy(name: Reflector): Trace {
  return attacked(
    `${name}_amplification, 2 x`,
    `${name}_amplification`,
    2,
    [burst(`udp_${name}`, 2 * THRESHOLDS.pps)],
    { group: 'reflectors' },
  );
}

const ipv6 = (['udp', 'tcp_syn', 'icmp', 'udp_dns'] as const).flatMap((vector) =>
  PLAIN.filter(([one]) => one === vector).map(([, type]) =>
    attacked(
      `${type} on IPv6, 2 x`,
      type,
      2,
      [burst(vector, 2 * THRESHOLDS.pps, { to: [HOST[6]] })],
      { group: 'IPv6', family: 6 },
    ),
  ),
);

const carpets = FACTORS.map((factor) =>
  attacked(
    `UDP over 200 addresses, ${factor} x`,
    'udp_flood',
    factor,
    [burst('udp', factor * THRESHOLDS.pps, { to: hosts(200) })],
    CARPET,
  ),
);

const several = [
  attacked(
    'SYN and UDP, 1.2 x each',
    'multi_vector',
    2.4,
    [burst('tcp_syn', 24_000), burst('udp', 24_000)],
    { group: 'several vectors' },
  ),
  attacked(
    'DNS and NTP answers, 2 x',
    'multi_vector',
    2,
    [burst('udp_dns', 18_000), burst('udp_ntp', 22_000)],
    { group: 'several vectors' },
  ),
  attacked(
    'SYN with a little ICMP, 2 x',
    'tcp_syn_flood',
    2,
    [burst('tcp_syn', 36_000), burst('icmp', 4000)],
    { group: 'several vectors' },
  ),
  attacked(
    'answers of DNS in parts, 2 x',
    'dns_amplification',
    2,
    [burst('udp_dns', 14_000, { bytes: 1500 }), burst('fragment', 26_000)],
    { group: 'several vectors' },
  ),
  attacked(
    'memcached few and large with SYN small and many, 3 x',
    'multi_vector',
    3,
    [burst('udp_memcached', 60_000), burst('tcp_syn', 60_000)],
    { group: 'several vectors' },
  ),
];

const odd = [
  attacked(
    'UDP pulsing, 1 s of 5 at 10 x',
    'udp_flood',
    10,
    [burst('udp', 200_000, { pulseS: [1, 4] })],
    { group: 'pulsing and rising' },
  ),
  attacked(
    'SYN pulsing, 2 s of 8 at 3 x',
    'tcp_syn_flood',
    3,
    [burst('tcp_syn', 60_000, { pulseS: [2, 6] })],
    { group: 'pulsing and rising' },
  ),
  attacked('UDP rising in 10 s to 5 x', 'udp_flood', 5, [burst('udp', 100_000, { rampS: 10 })], {
    group: 'pulsing and rising',
  }),
  attacked(
    'large UDP, few packets, 1.2 x in bits',
    'udp_flood',
    1.2,
    [burst('udp', 100_000, { bytes: 1500 })],
    { group: 'pulsing and rising' },
  ),
  attacked(
    'SYN during a download of 600 Mbit/s, 1.2 x',
    'tcp_syn_flood',
    1.2,
    [burst('tcp_syn', 24_000)],
    { group: 'pulsing and rising' },
  ),
  attacked(
    'small ACKs behind a download of 500 Mbit/s, 2 x',
    'tcp_ack_flood',
    2,
    [burst('tcp_ack', 40_000)],
    { group: 'pulsing and rising' },
  ),
].map((trace, index) =>
  index < 4
    ? trace
    : { ...trace, streams: [...trace.streams, steady('tcp_data', 45_000, [HOST[4]])] },
);

const SAMPLED = { group: 'sampled 1:1000', sampling: 1000 } as const;
const sampled = [
  attacked('UDP sampled, 2 x', 'udp_flood', 2, [burst('udp', 40_000)], SAMPLED),
  attacked('UDP sampled, 10 x', 'udp_flood', 10, [burst('udp', 200_000)], SAMPLED),
  attacked('SYN sampled, 10 x', 'tcp_syn_flood', 10, [burst('tcp_syn', 200_000)], SAMPLED),
  attacked(
    'DNS answers sampled, 10 x',
    'dns_amplification',
    10,
    [burst('udp_dns', 200_000)],
    SAMPLED,
  ),
  attacked('carpet sampled, 10 x', 'udp_flood', 10, [burst('udp', 200_000, { to: hosts(200) })], {
    ...CARPET,
    ...SAMPLED,
  }),
];

const peaceful = [
  legitimate('a usual day', usual()),
  legitimate('a usual day on IPv6', usual(6)),
  legitimate('a download of 900 Mbit/s', [...usual(), burst('tcp_data', 78_000)]),
  legitimate('receipts of an upload of 1 Gbit/s', [
    ...usual(),
    burst('tcp_ack', 42_000, { receipts: true }),
  ]),
  legitimate('players rushing in, to 0.9 x in 20 s', [
    ...usual(),
    burst('udp', 15_000, { rampS: 20 }),
  ]),
  legitimate('players rushing in at once, 0.8 x', [
    ...usual(),
    burst('udp', 13_500),
    burst('tcp_syn', 400),
  ]),
  legitimate('players rushing in after a restart, 1.5 x for half a second, then 0.7 x', [
    ...usual(),
    burst('udp', 16_000, { toS: FROM_S + 0.5 }),
    burst('udp', 11_500),
  ]),
  legitimate('scrapers on a web server', [
    ...usual(),
    burst('tcp_syn', 4000),
    burst('tcp_ack', 9000),
    burst('tcp_data', 6000),
  ]),
  legitimate('backups of ten hosts, 300 Mbit/s each', [
    ...usual(),
    burst('tcp_data', 270_000, { to: hosts(10) }),
  ]),
  legitimate('a resolver, many small answers', [
    ...usual(),
    burst('udp_dns', 12_000, { bytes: 160 }),
  ]),
  legitimate('a burst of half a second, 2 x', [
    ...usual(),
    burst('udp', 40_000, { toS: FROM_S + 0.5 }),
  ]),
  legitimate('bursts of a quarter second every 3 s, 3 x', [
    ...usual(),
    burst('udp', 60_000, { pulseS: [0.25, 2.75] }),
  ]),
  legitimate('a prefix of many busy hosts, 3 x in all', [
    ...usual(),
    steady('udp', 55_000, hosts(120)),
  ]),
  legitimate('a busy prefix in its evening', [
    ...usual(),
    steady('udp', 15_000, hosts(60)),
    burst('udp', 12_000, { to: hosts(60), rampS: 20 }),
  ]),
  legitimate('a ping sweep over the prefix', [...usual(), burst('icmp', 3000, { to: hosts(200) })]),
  legitimate('a usual day, sampled', usual(), 1000),
  legitimate(
    'players rushing in, 0.9 x, sampled',
    [...usual(), burst('udp', 15_000, { rampS: 5 })],
    1000,
  ),
  legitimate('a download of 900 Mbit/s, sampled', [...usual(), burst('tcp_data', 78_000)], 1000),
];

/** Traces that a threshold cannot tell, or only in part: shown so that nobody believes otherwise. */
const hard = [
  legitimate('players rushing in at once, to 1.3 x', [...usual(), burst('udp', 26_000)]),
  legitimate('a QUIC download of 500 Mbit/s', [...usual(), burst('udp', 44_000, { bytes: 1400 })]),
  legitimate('receipts of an upload that the counter does not see', [
    ...usual(),
    burst('tcp_ack', 42_000),
  ]),
  attacked('ACKs with payload, 40,000 packets/s of 1,400 bytes', 'tcp_ack_flood', 2, [
    burst('tcp_data', 40_000),
  ]),
  attacked('UDP sampled 1:1000, 1.2 x', 'udp_flood', 1.2, [burst('udp', 24_000)], {
    sampling: 1000,
  }),
  attacked(
    'UDP over 200 addresses from the first second on, 2 x',
    'udp_flood',
    2,
    [burst('udp', 40_000, { to: hosts(200), fromS: 0 })],
    CARPET,
  ),
  attacked('UDP at 0.9 x', 'udp_flood', 0.9, [burst('udp', 18_000)]),
].map((trace) => ({ ...trace, group: 'hard' }));

// The seeds of a trace are of its place: new ones come last.
export const TRACES: readonly Trace[] = [
  ...oneVector,
  ...amplified,
  ...ipv6,
  ...carpets,
  ...several,
  ...odd,
  ...sampled,
  ...peaceful,
  ...hard,
  ...beside,
  ...later,
];
