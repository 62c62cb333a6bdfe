import { Type } from 'typebox';
import {
  answer,
  arrayOf,
  CLOSED,
  id,
  integer,
  integerOrNull,
  IpAddress,
  MAX_ASN,
  MAX_SAFE_INTEGER,
  natural,
  object,
  openChoice,
  openChoiceOrNull,
  orNull,
  Prefix,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const AMPLIFIERS = [
  'dns',
  'ntp',
  'ssdp',
  'memcached',
  'cldap',
  'chargen',
  'snmp',
  'portmap',
  'netbios',
  'mssql',
  'rip',
  'wsd',
  'coap',
  'arms',
  'plex',
] as const;

const ATTACK_TYPES = [
  'udp_flood',
  'tcp_syn_flood',
  'tcp_syn_ack_flood',
  'tcp_ack_flood',
  'tcp_rst_flood',
  'icmp_flood',
  'gre_flood',
  'ip_fragment_flood',
  ...AMPLIFIERS.map((protocol) => `${protocol}_amplification` as const),
  'multi_vector',
  'other_flood',
] as const;

const ATTACK_STATUSES = ['ongoing', 'ended'] as const;

const Attack = object('Attack', 'One attack on one address.', {
  id: id({ description: 'For display and de-duplication; there is no detail operation.' }),
  destination_ip: IpAddress,
  prefix: Prefix,
  attack_type: openChoice(ATTACK_TYPES),
  peak_bps: natural({ description: 'Bits per second.', examples: [1_250_000_000] }),
  peak_bps_formatted: Type.String({
    description: 'For display; its format may change.',
    examples: ['1.25 Gbps'],
  }),
  peak_pps: natural({ description: 'Packets per second.', examples: [812_400] }),
  peak_pps_formatted: Type.String({
    description: 'For display; its format may change.',
    examples: ['812.40 Kpps'],
  }),
  started_at: timestamp(),
  mitigated_at: timestampOrNull({
    description: 'When the first edge confirmed a mitigation; null: none has.',
  }),
  ended_at: timestampOrNull({ description: 'Null while ongoing.' }),
  duration_seconds: natural({ description: 'Runs on while ongoing.' }),
  status: openChoice(ATTACK_STATUSES),
});

const link = (description: string) => Type.String({ format: 'uri', description });
const linkOrNull = (description: string) => textOrNull({ format: 'uri', description });

export const AttackPage = object('AttackPage', {
  data: Type.Array(Attack, { description: 'Newest first, by start and then id.' }),
  links: Type.Object({
    first: link('The first page.'),
    last: link('The last page.'),
    prev: linkOrNull('The page before; null on the first.'),
    next: linkOrNull('The page after; null on the last. Follow it until it is null.'),
  }),
  meta: Type.Object({
    current_page: integer({ minimum: 1 }),
    per_page: integer({ minimum: 1, maximum: 100 }),
    total: natural({ description: 'Attacks on all pages.' }),
    from: timestamp({ description: 'Start of the window that was used.' }),
    to: timestamp({ description: 'End of the window that was used.' }),
    from_clamped: Type.Boolean({
      description: 'Whether `from` was raised to the earliest date the caller may see.',
    }),
  }),
});

export const AttackQuery = Type.Object(
  {
    ip: Type.Optional(
      sentText({
        minLength: 2,
        maxLength: 45,
        description: 'Only attacks on exactly this address, IPv4 or IPv6.',
        examples: ['203.0.113.10'],
      }),
    ),
    prefix: Type.Optional(
      sentText({
        minLength: 1,
        maxLength: 43,
        description: 'Only attacks on addresses inside this CIDR block (without host bits).',
        examples: ['203.0.113.0/24'],
      }),
    ),
    asn: Type.Optional(
      integer({
        minimum: 1,
        maximum: MAX_ASN,
        description: 'Only attacks on prefixes announced under this ASN.',
        examples: [64_500],
      }),
    ),
    from: Type.Optional(
      timestamp({ description: 'Start of the window. Default: 24 hours before `to`.' }),
    ),
    to: Type.Optional(
      timestamp({ description: 'End of the window, not earlier than `from`. Default: now.' }),
    ),
    ongoing: Type.Optional(
      Type.Boolean({ description: 'True: only attacks that have not ended. False: no filter.' }),
    ),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 100, default: 25 })),
    page: Type.Optional(integer({ minimum: 1, maximum: MAX_SAFE_INTEGER, default: 1 })),
    snapshot: Type.Optional(
      sentText({
        minLength: 1,
        maxLength: 50,
        description:
          'Set by `links`, for a day: pages show the history as it was when the first one was read. Take it from there; it is of that very window.',
      }),
    ),
  },
  CLOSED,
);

const MITIGATION_MODES = ['enforce', 'observe'] as const;
const MITIGATION_ENDS = ['over', 'expired', 'cancelled', 'settings'] as const;

const AttackMitigation = object('AttackMitigation', {
  id: integerOrNull({
    minimum: 1,
    description: 'As `explain` names it; null: an edge did it by itself.',
  }),
  edge: Type.Union([Type.String(), Type.Null()], {
    description:
      'Which edge did it by itself, while control was away; null: control had all edges do it.',
  }),
  action: Type.String({
    description: 'What it does, in words for people.',
    examples: ['UDP from port 53 (dns) is dropped'],
  }),
  mode: openChoice(MITIGATION_MODES, {
    description: '`observe` marks what would have been dropped, and drops nothing.',
  }),
  since: timestamp(),
  until: timestampOrNull({
    description: 'When it was withdrawn; null: it stands, as far as the edge has reported.',
  }),
  ended_because: openChoiceOrNull(MITIGATION_ENDS, {
    description:
      'Why it was withdrawn: the attack is over, nothing was reported of it any more, somebody cancelled, or settings say otherwise. Null: it stands, or an edge did it by itself.',
  }),
});

const packets = natural({ description: 'As far as they were counted; may be of samples.' });

const Bounds = object(
  'Bounds',
  'Between what a peak surely was: equal where every packet was counted.',
  { low: natural(), high: natural() },
);

const AttackThreshold = object(
  'AttackThreshold',
  'What its traffic exceeded: the threshold that was set, or a multiple of the usual traffic. Null: not known.',
  { pps: natural(), bps: natural() },
);

const TopPort = object('TopPort', {
  port: integer({ minimum: 0, maximum: 65_535 }),
  protocol: openChoiceOrNull(['tcp', 'udp'], {
    description: 'Null: who counted does not tell it.',
  }),
  packets,
});

const seriesError = (of: string) =>
  orNull(Type.Array(natural()), {
    description: `By how much each of \`${of}\` may be wrong because traffic was sampled (95 %). Null: every packet was counted.`,
  });

const AttackSeries = object(
  'AttackSeries',
  'What the address got over time: means of equal steps.',
  {
    from: timestamp(),
    step_ms: natural({ description: 'A second; longer where the attack was long.' }),
    pps: Type.Array(natural()),
    bps: Type.Array(natural()),
    pps_error: seriesError('pps'),
    bps_error: seriesError('bps'),
  },
);

const AttackEvidence = object('AttackEvidence', {
  detected_at: timestamp(),
  detected_after_ms: natural({ description: 'Since it began.' }),
  mitigated_after_ms: integerOrNull({
    minimum: 0,
    description: 'Since it was detected; null: no edge has confirmed a mitigation.',
  }),
  shares: arrayOf(
    {
      attack_type: openChoice(ATTACK_TYPES),
      share: Type.Number({ minimum: 0, maximum: 1 }),
    },
    { description: 'What it is made of, the largest part first.' },
  ),
  threshold: orNull(AttackThreshold),
  peak_pps_bounds: orNull(Bounds),
  peak_bps_bounds: orNull(Bounds),
  counted_packets: integerOrNull({
    minimum: 0,
    description: 'The packets of which the lists below are the largest parts; null: unknown.',
  }),
  top_sources: arrayOf({ source_ip: IpAddress, packets }),
  top_source_ports: Type.Array(TopPort),
  top_destination_ports: Type.Array(TopPort),
  series: orNull(AttackSeries),
});

const counted = (description: string) =>
  Type.Object({ packets: natural(), bytes: natural() }, { description });

const UsualTraffic = object(
  'UsualTraffic',
  'It has lasted an hour with a steady shape, from many sources, as usual traffic does. Accepting it sets these thresholds; nothing else does. Null: it does not look so.',
  {
    pps: natural({ description: 'Packets per second.' }),
    mbps: natural({ description: 'Megabits (10^6) per second.' }),
  },
);

const AcceptedTraffic = object(
  'AcceptedTraffic',
  'The thresholds that its target has since its traffic was accepted as usual, the name of the caller that accepted it, and the time. Null: it was not accepted.',
  { pps: natural(), mbps: natural(), by: Type.String(), at: timestamp() },
);

export const AttackDetail = answer('AttackDetail', {
  attack: Attack,
  mitigations: Type.Array(AttackMitigation, {
    description: 'What edges do or did against it, oldest first.',
  }),
  dropped: counted(
    'What mitigations of it have dropped, as far as edges have reported it, which they do every 15 s. What filters dropped that came with it is among the drops of the address.',
  ),
  would_drop: counted(
    'What passed, and mitigations of it would have dropped that only observe. A packet counts once.',
  ),
  cancelled_at: timestampOrNull({
    description:
      'Since when nothing is done against it because somebody said so; null: nobody did.',
  }),
  evidence: orNull(AttackEvidence, {
    description: 'What is known of it besides; renewed every ten seconds. Null: nothing is kept.',
  }),
  usual: orNull(UsualTraffic),
  accepted: orNull(AcceptedTraffic),
});

export const TrafficAccepted = object('TrafficAccepted', {
  data: Type.Object({
    attack: id({ description: 'Of the attack.' }),
    target: Type.String({ description: 'The address or prefix that the thresholds are of.' }),
    pps: integerOrNull({ minimum: 0, description: 'Null: those of its scopes.' }),
    mbps: integerOrNull({ minimum: 0 }),
  }),
  message: Type.String(),
});

export const MitigationsCancelled = object('MitigationsCancelled', {
  data: Type.Object({
    attack: id({ description: 'Of the attack.' }),
    generation: integerOrNull({
      description: 'That withdraws what stood; null: nothing stood any more.',
    }),
  }),
  message: Type.String(),
});
