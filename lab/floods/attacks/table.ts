import { ASKED, type AttackVector, type DrawnAttack, GAME, WEB } from './attack.ts';

/** Every attack that a mitigation is measured by, in the order in which they are sent. */

const game: Pick<AttackVector, 'ports'> = { ports: [GAME] };
const web: Pick<AttackVector, 'ports'> = { ports: [WEB] };
const any: Pick<AttackVector, 'ports'> = { ports: 'random' };
/** A query of Valve's protocol. */
const A2S_INFO = `ffffffff54${Buffer.from('Source Engine Query\0').toString('hex')}`;
/** The header of a long packet of version 1, of which the rest is zeros. */
const QUIC_INITIAL = 'c30000000108';
const PULSE = { kind: 'udp', ...game, pps: 8_000 } as const;
const REFLECTION = { kind: 'udp', ...game, pps: 4_000 } as const;

const UDP: readonly DrawnAttack[] = [
  {
    name: 'UDP 60 B, port of the game',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...game, bytes: 32 }],
  },
  {
    name: 'UDP 12,000/s, random lengths',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...game, bytes: [1, 1200], pps: 12_000 }],
  },
  {
    name: 'UDP 12,000/s, server answers every packet',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...game, bytes: [3, 1200], payload: ASKED, pps: 12_000 }],
  },
  {
    name: 'replayed A2S queries',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...game, bytes: 25, payload: A2S_INFO }],
  },
  {
    name: 'UDP to random ports, random length',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...any, bytes: [1, 1200] }],
  },
  { name: 'UDP 0 bytes', type: 'udp_flood', vectors: [{ kind: 'udp', ...game, bytes: 0 }] },
  {
    name: 'UDP, header says 0',
    type: 'udp_flood',
    vectors: [{ kind: 'udp-no-length', ...game }],
  },
  {
    name: 'UDP, header says random',
    type: 'udp_flood',
    vectors: [{ kind: 'udp-any-length', ...game }],
  },
  {
    name: 'UDP 1 byte from port 0 to port 0',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ports: [0], sourcePort: 0, bytes: 1 }],
  },
  {
    name: 'QUIC Initials 1,200 B, 4,000/s',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ports: [443], bytes: 1200, payload: QUIC_INITIAL, pps: 4_000 }],
  },
  ...[2, 8, 30].map(
    (sources): DrawnAttack => ({
      name: `UDP from ${sources} sources`,
      type: 'udp_flood',
      vectors: [{ kind: 'udp', ...game, sources }],
    }),
  ),
  ...[1, 4].map(
    (count): DrawnAttack => ({
      name: `UDP, forged players: ${count}`,
      type: 'udp_flood',
      vectors: [{ kind: 'udp', ...game, sources: { clients: 'old', count } }],
    }),
  ),
];

const TCP: readonly DrawnAttack[] = [
  { name: 'SYN to 80', type: 'tcp_syn_flood', vectors: [{ kind: 'syn', ...web }] },
  {
    name: 'SYN-ACK reflection, random ports',
    type: 'tcp_syn_ack_flood',
    vectors: [{ kind: 'syn-ack', ...any, sourcePort: 443 }],
  },
  { name: 'SYN-ACK to 80', type: 'tcp_syn_ack_flood', vectors: [{ kind: 'syn-ack', ...web }] },
  { name: 'ACK to 80', type: 'tcp_ack_flood', vectors: [{ kind: 'ack', ...web }] },
  { name: 'ACK to random ports', type: 'tcp_ack_flood', vectors: [{ kind: 'ack', ...any }] },
  { name: 'RST to 80', type: 'tcp_rst_flood', vectors: [{ kind: 'rst', ...web }] },
  { name: 'FIN+ACK to 80', type: 'tcp_ack_flood', vectors: [{ kind: 'fin-ack', ...web }] },
  { name: 'TCP without flags', type: 'other_flood', vectors: [{ kind: 'no-flags', ...web }] },
  {
    name: 'PSH+ACK 400 B',
    type: 'tcp_ack_flood',
    vectors: [{ kind: 'psh-ack', ...web, bytes: 400 }],
  },
  {
    name: 'ACK 512 B',
    type: 'tcp_ack_flood',
    vectors: [{ kind: 'ack', ...web, bytes: 512 }],
  },
  { name: 'SYN to random ports', type: 'tcp_syn_flood', vectors: [{ kind: 'syn', ...any }] },
  { name: 'SYN to port 0', type: 'tcp_syn_flood', vectors: [{ kind: 'syn', ports: [0] }] },
  {
    name: 'SYN at 4 ports',
    type: 'tcp_syn_flood',
    vectors: [{ kind: 'syn', ports: [22, WEB, 443, 8080] }],
  },
  {
    name: 'SYN, forged players: 3',
    type: 'tcp_syn_flood',
    vectors: [{ kind: 'syn', ...web, sources: { clients: 'kept', count: 3 } }],
  },
  { name: 'SYN 1,500/s', type: null, vectors: [{ kind: 'syn', ...web, pps: 1_500 }] },
  { name: 'SYN 2,600/s', type: 'tcp_syn_flood', vectors: [{ kind: 'syn', ...web, pps: 2_600 }] },
];

const OTHERS: readonly DrawnAttack[] = [
  ...(['first-fragments', 'fragments', 'both-fragments'] as const).map(
    (kind): DrawnAttack => ({
      name: kind === 'fragments' ? 'later fragments' : kind.replace('-', ' '),
      type: 'ip_fragment_flood',
      vectors: [{ kind, ...game }],
    }),
  ),
  { name: 'ICMP echo', type: 'icmp_flood', vectors: [{ kind: 'icmp' }] },
  { name: 'ICMP unreachable', type: 'icmp_flood', vectors: [{ kind: 'unreachable' }] },
  { name: 'ICMP time exceeded', type: 'icmp_flood', vectors: [{ kind: 'exceeded' }] },
  { name: 'too big', type: 'icmp_flood', vectors: [{ kind: 'too-big' }], family: 6 },
  {
    name: 'neighbour solicitation',
    type: 'icmp_flood',
    vectors: [{ kind: 'solicitation' }],
    family: 6,
  },
  { name: 'GRE', type: 'gre_flood', vectors: [{ kind: 'gre' }] },
  { name: 'ESP', type: 'other_flood', vectors: [{ kind: 'esp' }] },
  { name: 'SCTP', type: 'other_flood', vectors: [{ kind: 'sctp' }] },
  {
    name: 'protocol 255, or next header 59',
    type: 'other_flood',
    vectors: [{ kind: 'no-next' }],
  },
];

const REFLECTIONS: readonly DrawnAttack[] = (
  [
    ['DNS', 53, 1_100, 'dns_amplification'],
    ['NTP', 123, 440, 'ntp_amplification'],
    ['SSDP', 1900, 320, 'ssdp_amplification'],
    ['CLDAP', 389, 1_400, 'cldap_amplification'],
    ['memcached', 11_211, 1_400, 'memcached_amplification'],
    ['CoAP', 5683, 600, 'coap_amplification'],
    ['WSD', 3702, 1_000, 'wsd_amplification'],
    ['Plex', 32_414, 300, 'udp_flood'],
    ['ARMS', 3283, 1_034, 'udp_flood'],
  ] as const
).map(([name, sourcePort, bytes, type]) => ({
  name: `${name} answers, 4,000/s`,
  type,
  vectors: [{ ...REFLECTION, sourcePort, bytes }],
}));

const COURSES: readonly DrawnAttack[] = [
  ...(
    [
      [0.5, 0.5, 8],
      [0.5, 2, 4],
      [2, 2, 3],
      [5, 5, 2],
    ] as const
  ).map(
    ([seconds, pauseSeconds, times]): DrawnAttack => ({
      name: `pulses ${seconds}/${pauseSeconds} s, 8,000/s`,
      type: 'udp_flood',
      vectors: [{ ...PULSE, seconds, pauseSeconds, times }],
    }),
  ),
  {
    name: 'ramp UDP 0 to 8,000 in 18 s',
    type: 'udp_flood',
    vectors: [{ kind: 'udp', ...game, fromPps: 0, pps: 8_000, seconds: 18 }],
  },
  {
    name: 'ramp SYN 0 to 3,000 in 18 s',
    type: 'tcp_syn_flood',
    vectors: [{ kind: 'syn', ...web, fromPps: 0, pps: 3_000, seconds: 18 }],
  },
];

const UDP_VECTOR = { kind: 'udp', ...game } as const;
const SYN_VECTOR = { kind: 'syn', ...web } as const;
const DNS_VECTOR = { kind: 'dns', ...game } as const;
const ACK_VECTOR = { kind: 'ack', ...web } as const;
const everyThreeSeconds = (...vectors: readonly AttackVector[]): AttackVector[] =>
  vectors.map((vector, index) => ({ ...vector, startSeconds: 3 * index, seconds: 3 }));

const MIXES: readonly DrawnAttack[] = [
  {
    name: 'UDP 12,000/s + SYN 4,000/s',
    type: 'udp_flood',
    vectors: [
      { ...UDP_VECTOR, pps: 12_000 },
      { ...SYN_VECTOR, pps: 4_000 },
    ],
  },
  {
    name: 'UDP + ICMP 2,400/s',
    type: 'udp_flood',
    vectors: [UDP_VECTOR, { kind: 'icmp', pps: 2_400 }],
  },
  {
    name: 'UDP + SYN 2,400/s',
    type: 'udp_flood',
    vectors: [UDP_VECTOR, { ...SYN_VECTOR, pps: 2_400 }],
  },
  {
    name: 'UDP; after 5 s SYN 3,000/s joins',
    type: 'udp_flood',
    vectors: [
      { ...UDP_VECTOR, seconds: 11 },
      { ...SYN_VECTOR, pps: 3_000, startSeconds: 5 },
    ],
  },
  {
    name: 'another vector every 3 s: UDP, SYN, DNS, ICMP, ACK',
    type: 'multi_vector',
    vectors: everyThreeSeconds(UDP_VECTOR, SYN_VECTOR, DNS_VECTOR, { kind: 'icmp' }, ACK_VECTOR),
  },
  {
    name: 'reverse: ICMP, ACK, UDP, GRE, SYN',
    type: 'multi_vector',
    vectors: everyThreeSeconds(
      { kind: 'icmp' },
      ACK_VECTOR,
      UDP_VECTOR,
      { kind: 'gre' },
      SYN_VECTOR,
    ),
  },
  {
    name: 'UDP 6 s, pause 12 s, ICMP 6 s',
    type: 'multi_vector',
    vectors: [UDP_VECTOR, { kind: 'icmp', startSeconds: 18 }],
  },
  {
    name: 'two addresses at once, UDP and SYN',
    type: 'udp_flood',
    records: 2,
    vectors: [UDP_VECTOR, { ...SYN_VECTOR, toSecondAddress: true }],
  },
];

const CROWDS: readonly DrawnAttack[] = [
  {
    name: 'flash crowd, 4,000 sources, 250 connections/s',
    type: null,
    vectors: [],
    crowd: { sources: 4_000, connectionsPerSecond: 250, seconds: 8 },
  },
  {
    name: 'flash crowd, 4,000 sources, 900 connections/s',
    type: null,
    vectors: [],
    crowd: { sources: 4_000, connectionsPerSecond: 900, seconds: 8 },
  },
  {
    name: '12 real sources, 700 connections/s',
    type: null,
    vectors: [],
    crowd: { sources: 12, connectionsPerSecond: 700, seconds: 8 },
  },
];

const CARPETS: readonly DrawnAttack[] = [
  { name: 'carpet: UDP sweep', type: 'udp_flood', over: 'prefix', vectors: [UDP_VECTOR] },
  {
    name: 'carpet: UDP 3,000/s, a client of 144/s beside',
    type: 'udp_flood',
    over: 'prefix',
    vectors: [{ ...UDP_VECTOR, pps: 3_000 }],
    busyClientPps: 144,
  },
  { name: 'carpet: SYN', type: 'tcp_syn_flood', over: 'prefix', vectors: [SYN_VECTOR] },
  {
    name: 'carpet: SYN, repeated packets',
    type: 'tcp_syn_flood',
    over: 'prefix',
    vectors: [{ ...SYN_VECTOR, frames: 3_000 }],
  },
  {
    name: 'carpet over 3,000 addresses of a /64',
    type: 'udp_flood',
    over: 'prefix',
    vectors: [{ ...UDP_VECTOR, frames: 3_000 }],
    family: 6,
  },
  {
    name: 'carpet over the /64s of a /48',
    type: 'udp_flood',
    over: 'sites',
    vectors: [UDP_VECTOR],
    family: 6,
  },
];

/** The names are those of the research that drew them. Carpets stand last: a prefix is watched for 30 s first. */
export const ATTACKS: readonly DrawnAttack[] = [
  ...UDP,
  ...TCP,
  ...OTHERS,
  ...REFLECTIONS,
  ...COURSES,
  ...MIXES,
  ...CROWDS,
  ...CARPETS,
];

export function attacksOf(family: 4 | 6, words: readonly string[] = []): readonly DrawnAttack[] {
  const wanted = words.map((word) => word.toLowerCase());
  return ATTACKS.filter(
    ({ name, family: only = family }) =>
      only === family &&
      (wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word))),
  );
}

/** Throws if the table has no attack with this name. */
export function attackNamed(name: string): DrawnAttack {
  const found = ATTACKS.find((attack) => attack.name === name);
  if (found === undefined) throw new Error(`no attack is called ${name}`);
  return found;
}
