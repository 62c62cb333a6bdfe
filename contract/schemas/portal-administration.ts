import { Type } from 'typebox';
import { ABILITIES } from '../endpoint.ts';
import {
  answer,
  choice,
  CLOSED,
  id,
  integer,
  natural,
  object,
  openChoice,
  orNull,
  sent,
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

export const ApiKeyRevoked = answer('ApiKeyRevoked', { id: id(), revoked_at: timestamp() });

const AuditEntry = object('AuditEntry', {
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
});

export const AuditTrail = object('AuditTrail', {
  data: Type.Array(AuditEntry, { description: 'Newest first.' }),
  links: Type.Object({ next: textOrNull({ description: 'The older page; null on the last.' }) }),
});

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
