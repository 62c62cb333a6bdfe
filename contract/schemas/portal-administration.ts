import { Type } from 'typebox';
import { ABILITIES } from '../endpoint.ts';
import {
  Asn,
  choice,
  CLOSED,
  id,
  integer,
  natural,
  openChoice,
  openChoiceOrNull,
  orNull,
  Prefix,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const owner = openChoice(['fleet', 'portal'], {
  description: '`fleet`: the fleet file owns it, and it is changed there.',
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

const ApiKey = Type.Object(
  {
    id: id(),
    hint: Type.String({ description: 'The first characters of the key.' }),
    ...keyFields,
    owner,
    created_at: timestamp(),
    last_used_at: timestampOrNull(),
    revoked_at: timestampOrNull(),
    suspended_at: timestampOrNull({ description: 'When it left the fleet file.' }),
  },
  { title: 'ApiKey', description: 'Without its secret, which is shown once.' },
);

export const ApiKeys = Type.Object({ data: Type.Array(ApiKey) }, { title: 'ApiKeys' });

export const ApiKeyInput = Type.Object(
  {
    name: keyFields.name,
    abilities: keyFields.abilities,
    servers: Type.Optional(keyFields.servers),
    managed_servers: Type.Optional(keyFields.managed_servers),
    prefixes: Type.Optional(keyFields.prefixes),
    sources: Type.Optional(keyFields.sources),
    expires_at: Type.Optional(keyFields.expires_at),
  },
  { ...CLOSED, title: 'ApiKeyInput' },
);

export const ApiKeyCreated = Type.Object(
  {
    data: Type.Object({
      id: id(),
      name: Type.String(),
      secret: Type.String({ description: 'The whole key. It is shown this once.' }),
    }),
  },
  { title: 'ApiKeyCreated' },
);

export const ApiKeyRevoked = Type.Object(
  { data: Type.Object({ id: id(), revoked_at: timestamp() }) },
  { title: 'ApiKeyRevoked' },
);

const limits = {
  rules_per_ip: integer({ minimum: 0, maximum: 100_000 }),
  filters_per_ip: integer({ minimum: 0, maximum: 100_000 }),
  max_ports_per_request: integer({ minimum: 1, maximum: 65_535 }),
  attack_history_days: integer({ minimum: 1, maximum: 36_500 }),
  configured_addresses: integer({ minimum: 0, maximum: 1_000_000 }),
  requests_per_minute: integer({ minimum: 1, maximum: 1_000_000 }),
};
const flags = Type.Array(choice(['firewall_api', 'attack_history_api']), { maxItems: 2 });
const OrganisationLimits = Type.Object(limits, { ...CLOSED, title: 'OrganisationLimits' });

const OrganisationDetail = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    owner,
    flags,
    limits: OrganisationLimits,
    asns: Type.Array(Asn),
    holdings: Type.Array(
      Type.Object({
        prefix: Prefix,
        asn: orNull(Asn),
        service_id: orNull(natural()),
        since: timestamp(),
        until: timestampOrNull(),
        owner,
      }),
      { description: 'Present and future ones.' },
    ),
    services: Type.Array(
      Type.Object({ id: natural(), name: Type.String(), active: Type.Boolean(), owner }),
    ),
    thresholds: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Detection settings of the organisation, as the fleet file names them.',
    }),
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

const Edge = Type.Object(
  {
    name: Type.String(),
    site: Type.String(),
    serves: Type.Array(Type.String()),
    sees: openChoice(['both', 'inbound']),
    fragments: openChoice(['reassemble', 'limit']),
    mode: openChoiceOrNull(['enforce', 'observe']),
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

const FleetCollector = Type.Record(Type.String(), Type.Unknown(), {
  title: 'FleetCollector',
  description: 'Its settings and its last report.',
});

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

const AuditEntry = Type.Object(
  {
    id: id(),
    at: timestamp(),
    organisation: textOrNull({ description: 'Its slug; null: none.' }),
    actor_kind: openChoice(['key', 'user', 'operator', 'fleet', 'system']),
    actor: Type.String(),
    source: textOrNull(),
    request_id: textOrNull(),
    action: Type.String(),
    target: Type.String(),
    detail: Type.Record(Type.String(), Type.Unknown()),
    generation: orNull(natural()),
  },
  { title: 'AuditEntry' },
);

export const AuditTrail = Type.Object(
  {
    data: Type.Array(AuditEntry, { description: 'Newest first.' }),
    links: Type.Object({ next: textOrNull({ description: 'The older page; null on the last.' }) }),
  },
  { title: 'AuditTrail' },
);

export const AuditQuery = Type.Object(
  {
    search: Type.Optional(
      sentText({
        maxLength: 200,
        description: 'Text in the actor, the action, the target, the source or the request id.',
      }),
    ),
    organisation: Type.Optional(sentText({ maxLength: 63 })),
    before: Type.Optional(natural({ description: 'Only entries with a lower id.' })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 100, default: 50 })),
  },
  CLOSED,
);
