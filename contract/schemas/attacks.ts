import { Type } from 'typebox';
import { AddressText, Count, exact, Timestamp } from './text.ts';

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
  ...AMPLIFIERS.map((name) => `${name}_amplification` as const),
  'multi_vector',
  'other_flood',
] as const;

const Link = Type.Union([Type.String(), Type.Null()]);

export const Attack = exact({
  id: Type.Integer(),
  destination_ip: AddressText,
  prefix: Type.String(),
  attack_type: Type.String({ enum: [...ATTACK_TYPES] }),
  peak_bps: Type.Integer({ minimum: 0, description: 'Bits per second' }),
  peak_bps_formatted: Type.String({ description: 'For display; the format may change.' }),
  peak_pps: Type.Integer({ minimum: 0, description: 'Packets per second' }),
  peak_pps_formatted: Type.String({ description: 'For display; the format may change.' }),
  started_at: Timestamp,
  mitigated_at: Type.Union([Timestamp, Type.Null()], {
    description: 'null until an edge has confirmed the mitigation.',
  }),
  ended_at: Type.Union([Timestamp, Type.Null()], {
    description: 'null while the attack is ongoing.',
  }),
  duration_seconds: Count,
  status: Type.String({ enum: ['ongoing', 'ended'] }),
});

export const AttackPage = exact({
  data: Type.Array(Attack),
  links: exact({ first: Type.String(), last: Type.String(), prev: Link, next: Link }),
  meta: exact({
    current_page: Type.Integer({ minimum: 1 }),
    per_page: Type.Integer({ minimum: 1, maximum: 100 }),
    total: Count,
    from: Timestamp,
    to: Timestamp,
    from_clamped: Type.Boolean(),
  }),
});

export const AttackQuery = exact({
  ip: Type.Optional(Type.String({ maxLength: 45, description: 'Exact destination address' })),
  prefix: Type.Optional(Type.String({ maxLength: 43, description: 'CIDR: addresses inside it' })),
  asn: Type.Optional(Type.Integer({ minimum: 1, maximum: 4_294_967_295 })),
  from: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Start of the window, ISO 8601 with an offset. Default: 24 hours before `to`.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'End of the window, ISO 8601 with an offset. Default: now.',
    }),
  ),
  ongoing: Type.Optional(Type.Boolean({ description: 'true: only attacks that have not ended.' })),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 })),
});
