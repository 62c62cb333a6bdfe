import { Type } from 'typebox';
import {
  Asn,
  CLOSED,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  Prefix,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const heldSince = timestamp({ description: 'Since when the organisation holds it.' });
const heldUntil = timestampOrNull({ description: 'When the holding ends; null: no end is known.' });

const HeldPrefix = object(
  'HeldPrefix',
  'A prefix announced under one of the organisation’s ASNs.',
  { prefix: Prefix, asn: Asn, since: heldSince, until: heldUntil },
);

const HeldAddress = object(
  'HeldAddress',
  'An address that is assigned to a service, or has rules or filters of its own.',
  {
    ip: IpAddress,
    service_id: integerOrNull({
      minimum: 0,
      description: 'The service it is assigned to; null: it lies in a held prefix.',
    }),
    since: heldSince,
    until: heldUntil,
    rules_count: natural({ description: 'Accepted rules, those of groups included.' }),
    filters_count: natural({ description: 'Accepted filters, those of groups included.' }),
    dropped_packets: natural({
      description:
        'Packets to it that edges dropped in the last hour, as its drops count them: none while edges only observe.',
    }),
  },
);

export const HeldAddresses = object('HeldAddresses', {
  data: Type.Object({
    prefixes: Type.Array(HeldPrefix, { description: 'All of them, on every page.' }),
    addresses: Type.Array(HeldAddress, { description: 'This page, IPv4 first, ascending.' }),
  }),
  links: Type.Object({
    next: textOrNull({ format: 'uri', description: 'The page after; null on the last.' }),
  }),
  meta: Type.Object({
    per_page: integer({ minimum: 1, maximum: 1000 }),
    configured_addresses: Type.Object({
      used: natural({ description: 'Addresses with rules or filters of their own.' }),
      limit: natural({ description: 'How many the organisation may configure.' }),
    }),
  }),
});

export const HeldAddressesQuery = Type.Object(
  {
    after: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }],
        description: 'Begin after this address.',
      }),
    ),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 1000, default: 1000 })),
  },
  CLOSED,
);
