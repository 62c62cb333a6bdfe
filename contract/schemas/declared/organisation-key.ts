import { type Static, Type } from 'typebox';
import { ABILITIES } from '../../endpoint.ts';
import { CLOSED, textOrNull, timestamp, timestampOrNull } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { cidrs, formed, list, oneOf, orNone, slug, text, textOrNone, whole } from './shapes.ts';

const servers = (description: string) =>
  orNone(
    list(formed('uuid', 'A uuid.', 36), description, {
      maxItems: 1_000,
      'x-unique': 'The server',
      'x-sorted': true,
    }),
  );

const networks = (description: string) => orNone(cidrs(description, { 'x-sorted': true }));

const KeySchema = Type.Object(
  {
    organisation: slug('The organisation that it belongs to.'),
    id: Type.Optional(whole(0, Number.MAX_SAFE_INTEGER, 'Given when it is made.', { default: 0 })),
    name: text('The name for people. A fleet file finds the key again by it.', 100),
    abilities: list(oneOf(ABILITIES, 'An ability.'), 'Abilities of the key.', {
      minItems: 1,
      maxItems: 10,
      'x-unique': 'The ability',
      'x-sorted': true,
    }),
    servers: servers('Uuids of the servers that it sees; null: all.'),
    managed_servers: servers('Uuids of those that it may instruct; null: all that it sees.'),
    prefixes: networks('Networks that it is bound to; null: all holdings.'),
    sources: networks('Networks that it may be used from; null: anywhere.'),
    expires_at: orNone(formed('moment', 'A moment with an offset. Null: never.', 40)),
    secret: textOrNone(
      'A key from `portcullis keys generate`. Null: one is made, or it keeps the one that it has.',
    ),
  },
  { ...CLOSED, description: 'An API key of an organisation.' },
);

export type KeyObject = Filled<Static<typeof KeySchema>>;

const declared = declaredKind({
  name: 'key',
  title: 'OrganisationKey',
  plural: 'OrganisationKeys',
  path: '/organisations/{organisation}/keys/{id}',
  schema: KeySchema,
  output: {
    secret: textOrNull({
      description:
        'The whole key, in the answer that made it only: its hash is stored. If that answer is lost, revoke the key and create another.',
    }),
    hint: Type.String({ description: 'The first characters of the key.' }),
    created_at: timestamp(),
    last_used_at: timestampOrNull(),
    revoked_at: timestampOrNull(),
    suspended_at: timestampOrNull({ description: 'When it left the fleet file.' }),
  },
  about: 'It is revoked for good, also one of the fleet file, and is listed still.',
  example: { name: 'panel', abilities: ['game-servers.read'] },
});

export const ORGANISATION_KEY = { ...declared, isNumbered: true } as const;
