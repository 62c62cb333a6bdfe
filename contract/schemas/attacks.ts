import { Type } from 'typebox';
import {
  CLOSED,
  id,
  integer,
  IpAddress,
  MAX_ASN,
  MAX_SAFE_INTEGER,
  natural,
  object,
  openChoice,
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
] as const;

export const ATTACK_TYPES = [
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

export const ATTACK_STATUSES = ['ongoing', 'ended'] as const;

export const Attack = object('Attack', 'One attack on one address.', {
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
