import { Type } from 'typebox';
import {
  answer,
  Asn,
  choice,
  choiceOrNull,
  CLOSED,
  id,
  integer,
  integerOrNull,
  natural,
  object,
  openChoice,
  orNull,
  Prefix,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';
import { ABILITIES } from '../endpoint.ts';

const LARGEST = 2_147_483_647;

export const owner = openChoice(['fleet', 'portal'], {
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
const OrganisationLimits = sent('OrganisationLimits', limits);

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
const Thresholds = object(
  'Thresholds',
  'Null: as of what is around it: address, service, prefix, organisation, default.',
  thresholds,
);

const ManagedFilter = sent('ManagedFilter', {
  type: sentText({ minLength: 1, maxLength: 50 }),
  ports: sentTextOrNull({
    maxLength: 2000,
    description: 'A port expression; null: the ports of its game servers.',
  }),
});

const Holding = object('Holding', 'A prefix, under an ASN or none, or what a service holds.', {
  id: id(),
  prefix: Prefix,
  asn: orNull(Asn),
  service_id: orNull(natural()),
  since: timestamp(),
  until: timestampOrNull({ description: 'Null: without end.' }),
  thresholds: Thresholds,
  owner,
});

const OrganisationService = object('OrganisationService', {
  id: natural(),
  name: Type.String(),
  active: Type.Boolean({ description: 'Whether attacks on it are shown.' }),
  managed_filters: Type.Array(ManagedFilter),
  thresholds: Thresholds,
  owner,
});

const OrganisationDetail = object('OrganisationDetail', {
  slug: Type.String(),
  external_id: textOrNull({ description: 'What a billing system calls it.' }),
  name: Type.String(),
  owner,
  flags,
  limits: OrganisationLimits,
  asns: Type.Array(Asn),
  fleet_asns: Type.Array(Asn, { description: 'Those of its ASNs that the fleet file owns.' }),
  holdings: Type.Array(Holding, { description: 'Present and future ones.' }),
  services: Type.Array(OrganisationService),
  thresholds: Thresholds,
});

export const Organisations = object('Organisations', {
  data: Type.Array(OrganisationDetail),
  made: Type.Optional(
    object('MadeObject', 'What the request made, where that has an id of its own.', { id: id() }),
  ),
});

const externalId = sentTextOrNull({
  minLength: 1,
  maxLength: 255,
  description: 'What a billing system calls it; unique.',
});

export const OrganisationQuery = Type.Object(
  { external_id: Type.Optional(sentText({ maxLength: 255, description: 'Only this one.' })) },
  CLOSED,
);

export const OrganisationInput = sent(
  'OrganisationInput',
  'Of one that exists, what is left out stays as it is.',
  {
    name: sentText({ minLength: 1, maxLength: 200 }),
    external_id: Type.Optional(externalId),
    flags: Type.Optional(flags),
    limits: Type.Optional(OrganisationLimits),
  },
);

export const ServiceInput = sent('ServiceInput', {
  name: sentText({ minLength: 1, maxLength: 200 }),
  active: Type.Boolean(),
  managed_filters: Type.Optional(
    Type.Array(ManagedFilter, {
      maxItems: 50,
      description: 'Filters that it manages itself. Left out: unchanged, or the default.',
    }),
  ),
});

const allowLosses = Type.Boolean({
  description: 'Also if rules, filters or assignments in force would end by it.',
});

const thresholdEffect = {
  pps: natural({ description: 'Packets per second.' }),
  mbps: natural({ description: 'Megabits (10^6) per second.' }),
  missed: natural({ description: 'Attacks of the last seven days that stay below.' }),
  reported: natural({ description: 'Hours of usual traffic that reach one of them.' }),
};

const ThresholdSuggestion = object('ThresholdSuggestion', {
  subject: Type.String({ description: 'An address or prefix.' }),
  usual: orNull(
    object(
      'UsualPeak',
      'The highest traffic outside of attacks. Null: never a quarter of its threshold.',
      { pps: natural(), mbps: natural() },
    ),
  ),
  present: object('ThresholdsNow', 'What it has.', thresholdEffect),
  suggested: orNull(
    object('SuggestedThresholds', 'Twice the usual. Null: what it has suits.', thresholdEffect),
  ),
  attacks: natural({ description: 'Of the last seven days.' }),
});

export const ThresholdSuggestions = object('ThresholdSuggestions', {
  data: Type.Array(ThresholdSuggestion),
});

export const HoldingInput = sent(
  'HoldingInput',
  'With an ASN of the organisation or of the operator, with one of its services, or with neither.',
  {
    prefix: sentText({
      minLength: 2,
      maxLength: 50,
      description: 'A network or an address.',
      examples: ['203.0.113.0/24'],
    }),
    asn: Type.Optional(orNull(Asn)),
    service_id: Type.Optional(integerOrNull({ minimum: 1, maximum: LARGEST })),
    since: Type.Optional(timestampOrNull({ description: 'Null: from now on.' })),
    until: Type.Optional(timestampOrNull({ description: 'Null: without end.' })),
    allow_losses: Type.Optional(allowLosses),
  },
);

export const HoldingChange = sent('HoldingChange', {
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
});

export const ThresholdsInput = sent('ThresholdsInput', {
  scope: choice(['organisation', 'service', 'holding']),
  id: Type.Optional(
    integerOrNull({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Of the service or the holding.',
    }),
  ),
  ...thresholds,
});

const ability = choice(ABILITIES);
const listOrNull = (description: string) =>
  orNull(Type.Array(sentText({ maxLength: 64 }), { maxItems: 1000 }), { description });

const keyFields = {
  name: sentText({ minLength: 1, maxLength: 100 }),
  abilities: Type.Array(ability, { maxItems: 10 }),
  servers: listOrNull('Uuids of the servers that it sees; null: all.'),
  managed_servers: listOrNull('Uuids of those that it may instruct; null: all that it sees.'),
  prefixes: listOrNull('Networks that it is bound to; null: all holdings.'),
  sources: listOrNull('Networks that it may be used from; null: anywhere.'),
  expires_at: timestampOrNull({ description: 'Null: never.' }),
};

const ApiKey = object('ApiKey', 'Without its secret, which is shown once.', {
  id: id(),
  hint: Type.String({ description: 'The first characters of the key.' }),
  ...keyFields,
  owner,
  created_at: timestamp(),
  last_used_at: timestampOrNull(),
  revoked_at: timestampOrNull(),
  suspended_at: timestampOrNull({ description: 'When it left the fleet file.' }),
});

export const ApiKeys = object('ApiKeys', { data: Type.Array(ApiKey) });

export const ApiKeyInput = sent('ApiKeyInput', {
  name: keyFields.name,
  abilities: keyFields.abilities,
  servers: Type.Optional(keyFields.servers),
  managed_servers: Type.Optional(keyFields.managed_servers),
  prefixes: Type.Optional(keyFields.prefixes),
  sources: Type.Optional(keyFields.sources),
  expires_at: Type.Optional(keyFields.expires_at),
});

export const ApiKeyCreated = answer('ApiKeyCreated', {
  id: id(),
  name: Type.String(),
  secret: Type.String({ description: 'The whole key. It is shown this once.' }),
});

export const OrganisationKeyCreated = answer('OrganisationKeyCreated', {
  id: id(),
  name: Type.String(),
  secret: textOrNull({
    description:
      'The whole key, shown this once. Null in the repeated answer of an Idempotency-Key.',
  }),
});

export const ApiKeyRevoked = answer('ApiKeyRevoked', { id: id(), revoked_at: timestamp() });
