import { Type } from 'typebox';
import {
  Asn,
  choice,
  choiceOrNull,
  CLOSED,
  id,
  integer,
  integerOrNull,
  natural,
  openChoice,
  openChoiceOrNull,
  orNull,
  Prefix,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const LARGEST = 2_147_483_647;

const owner = openChoice(['fleet', 'portal'], {
  description: '`fleet`: the fleet file owns it, and it is changed there.',
});

const limits = {
  rules_per_ip: integer({ minimum: 0, maximum: 100_000 }),
  filters_per_ip: integer({ minimum: 0, maximum: 100_000 }),
  max_ports_per_request: integer({ minimum: 1, maximum: 65_535 }),
  attack_history_days: integer({ minimum: 1, maximum: 36_500 }),
  configured_addresses: integer({ minimum: 0, maximum: LARGEST }),
  requests_per_minute: integer({ minimum: 1, maximum: LARGEST }),
};
const flags = Type.Array(choice(['firewall_api', 'attack_history_api']), { maxItems: 2 });
const OrganisationLimits = Type.Object(limits, { ...CLOSED, title: 'OrganisationLimits' });

const thresholds = {
  pps: integerOrNull({ minimum: 1, maximum: LARGEST, description: 'Packets per second.' }),
  mbps: integerOrNull({ minimum: 1, maximum: LARGEST, description: 'Megabits per second.' }),
  hold_seconds: integerOrNull({
    minimum: 1,
    maximum: 86_400,
    description: 'How long traffic must stay below for an attack to have ended.',
  }),
  mitigation: choiceOrNull(['off', 'observe', 'on']),
  safelist: Type.Array(sentText({ minLength: 2, maxLength: 50 }), {
    maxItems: 64,
    description: 'Sources that no mitigation touches, added to those around it.',
  }),
};
const Thresholds = Type.Object(thresholds, {
  title: 'Thresholds',
  description: 'Null: as of what is around it: address, service, prefix, organisation, default.',
});

const ManagedFilter = Type.Object(
  {
    type: sentText({ minLength: 1, maxLength: 50 }),
    ports: sentTextOrNull({
      maxLength: 2000,
      description: 'A port expression; null: the ports of its game servers.',
    }),
  },
  { ...CLOSED, title: 'ManagedFilter' },
);

const Holding = Type.Object(
  {
    id: id(),
    prefix: Prefix,
    asn: orNull(Asn),
    service_id: orNull(natural()),
    since: timestamp(),
    until: timestampOrNull({ description: 'Null: without end.' }),
    thresholds: Thresholds,
    owner,
  },
  { title: 'Holding', description: 'A prefix under an ASN, or an address of a service.' },
);

const OrganisationService = Type.Object(
  {
    id: natural(),
    name: Type.String(),
    active: Type.Boolean({ description: 'Whether attacks on it are shown.' }),
    managed_filters: Type.Array(ManagedFilter),
    thresholds: Thresholds,
    owner,
  },
  { title: 'OrganisationService' },
);

const OrganisationDetail = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    owner,
    flags,
    limits: OrganisationLimits,
    asns: Type.Array(Asn),
    fleet_asns: Type.Array(Asn, { description: 'Those of its ASNs that the fleet file owns.' }),
    holdings: Type.Array(Holding, { description: 'Present and future ones.' }),
    services: Type.Array(OrganisationService),
    thresholds: Thresholds,
  },
  { title: 'OrganisationDetail' },
);

export const Organisations = Type.Object(
  { data: Type.Array(OrganisationDetail) },
  { title: 'Organisations' },
);

export const OrganisationInput = Type.Object(
  { name: sentText({ minLength: 1, maxLength: 200 }), flags, limits: OrganisationLimits },
  { ...CLOSED, title: 'OrganisationInput' },
);

export const ServiceInput = Type.Object(
  {
    name: sentText({ minLength: 1, maxLength: 200 }),
    active: Type.Boolean(),
    managed_filters: Type.Optional(
      Type.Array(ManagedFilter, {
        maxItems: 50,
        description: 'Filters that it manages itself. Left out: unchanged, or the default.',
      }),
    ),
  },
  { ...CLOSED, title: 'ServiceInput' },
);

const allowLosses = Type.Boolean({
  description: 'Also if rules, filters or assignments in force would end by it.',
});

export const HoldingInput = Type.Object(
  {
    prefix: sentText({
      minLength: 2,
      maxLength: 50,
      description: 'A network, or the address of a service.',
      examples: ['203.0.113.0/24'],
    }),
    asn: Type.Optional(orNull(Asn)),
    service_id: Type.Optional(integerOrNull({ minimum: 1, maximum: LARGEST })),
    since: Type.Optional(timestampOrNull({ description: 'Null: from now on.' })),
    until: Type.Optional(timestampOrNull({ description: 'Null: without end.' })),
    allow_losses: Type.Optional(allowLosses),
  },
  {
    ...CLOSED,
    title: 'HoldingInput',
    description: 'With an ASN of the organisation, or with one of its services.',
  },
);

export const HoldingChange = Type.Object(
  {
    since: Type.Optional(timestamp({ description: 'Left out: unchanged.' })),
    until: Type.Optional(
      timestampOrNull({
        description: 'Null: without end. A past moment ends it. Left out: unchanged.',
      }),
    ),
    end_now: Type.Optional(
      Type.Boolean({ description: 'Ends it by the clock of the service; `until` is not read.' }),
    ),
    allow_losses: Type.Optional(allowLosses),
  },
  { ...CLOSED, title: 'HoldingChange' },
);

export const ThresholdsInput = Type.Object(
  {
    scope: choice(['organisation', 'service', 'holding']),
    id: Type.Optional(
      integerOrNull({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Of the service or the holding.',
      }),
    ),
    ...thresholds,
  },
  { ...CLOSED, title: 'ThresholdsInput' },
);

const Edge = Type.Object(
  {
    name: Type.String(),
    site: Type.String(),
    owner,
    devices: Type.Array(Type.String(), { description: 'By which packets come in.' }),
    serves: Type.Array(Type.String()),
    sees: openChoice(['both', 'inbound']),
    fragments: openChoice(['reassemble', 'limit']),
    mode: openChoiceOrNull(['enforce', 'observe', 'no_device'], {
      description:
        '`no_device`: no packet can come in by its devices, so it enforces nothing. Null: it never connected.',
    }),
    mode_reason: textOrNull(),
    in_service: Type.Boolean(),
    last_seen_at: timestampOrNull(),
    generation: natural(),
    accepted_generation: natural(),
    lag_ms: Type.Number(),
    refused: Type.Array(
      Type.Object({
        target: Type.String(),
        reason: Type.String(),
        good_generation: natural(),
      }),
    ),
    report: orNull(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Its last report: policies, kernel state, problems, devices.',
    }),
  },
  { title: 'Edge' },
);

const FleetNode = Type.Object(
  {
    name: Type.String(),
    owner,
    enrolled_at: timestampOrNull(),
    last_seen_at: timestampOrNull(),
    connected: Type.Boolean(),
    engine: orNull(
      Type.Object({ kind: Type.String(), version: textOrNull(), problem: textOrNull() }),
    ),
    servers: natural(),
    built: natural(),
    failed: Type.Array(
      Type.Object({ uuid: Type.String(), name: Type.String(), reason: textOrNull() }),
    ),
  },
  { title: 'FleetNode' },
);

const FleetCollector = Type.Object(
  {
    name: Type.String(),
    owner,
    listen: Type.String(),
    exporters: natural({ description: 'How many are listed.' }),
    enrolled_at: timestampOrNull({ description: 'Null: it has no credential.' }),
    last_seen_at: timestampOrNull(),
    connected: Type.Boolean(),
    report: orNull(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Its last report: exporters, datagrams, losses.',
    }),
  },
  { title: 'FleetCollector' },
);

export const FleetHealth = Type.Object(
  {
    data: Type.Object({
      edges: Type.Array(Edge),
      nodes: Type.Array(FleetNode),
      collectors: Type.Array(FleetCollector),
    }),
  },
  { title: 'FleetHealth' },
);
