import { Type } from 'typebox';
import {
  answer,
  choice,
  id,
  natural,
  object,
  openChoice,
  orNull,
  sent,
  sentText,
  timestamp,
  timestampOrNull,
} from './values.ts';
import { ABILITIES } from '../endpoint.ts';

export const owner = openChoice(['fleet', 'portal'], {
  description: '`fleet`: the fleet file owns it, and it is changed there.',
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
