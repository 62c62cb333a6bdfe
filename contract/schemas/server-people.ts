import { Type } from 'typebox';
import {
  arrayOf,
  id,
  integer,
  natural,
  object,
  openChoice,
  sent,
  textOrNull,
  timestamp,
} from './values.ts';

const rights = Type.Array(Type.String({ maxLength: 40, examples: ['control.restart'] }), {
  minItems: 1,
  maxItems: 64,
  description:
    'Rights by their names, which are those of Pterodactyl: `control.start`, `file.read-content`. Each brings `websocket.connect`, the right to see the server.',
});

const shownRights = Type.Array(Type.String(), { description: 'In the order of `rights`.' });

export const ServerPeople = object('ServerPeople', 'The people who have rights to one server.', {
  data: object('ServerPeopleData', {
    people: arrayOf(
      {
        id: id(),
        email: Type.String(),
        name: Type.String(),
        rights: shownRights,
        since: timestamp(),
      },
      {
        description:
          'By email. Members of the organisation are here only if they have more rights here than by their role.',
      },
    ),
    invitations: arrayOf({
      id: id(),
      email: Type.String(),
      rights: shownRights,
      created_by: Type.String(),
      expires_at: timestamp(),
    }),
    rights: Type.Array(
      Type.Object({
        group: Type.String(),
        right: Type.String(),
        description: Type.String(),
        own: Type.Boolean({ description: 'Whether the caller has it, and so may give it.' }),
      }),
      { description: 'Every right that there is.' },
    ),
  }),
});

export const ServerInvitation = sent('ServerInvitation', {
  email: Type.String({ minLength: 3, maxLength: 254 }),
  rights,
});

export const ServerRightsChange = sent('ServerRightsChange', { rights });

export const ServerActivityQuery = Type.Object(
  {
    before: Type.Optional(id({ description: 'Only entries with a lower id.' })),
    limit: Type.Optional(integer({ minimum: 1, maximum: 200, default: 50 })),
  },
  { additionalProperties: false },
);

export const ServerActivity = object('ServerActivity', 'What was done with a server.', {
  data: arrayOf(
    {
      id: id(),
      at: timestamp(),
      actor_kind: openChoice(['key', 'user', 'operator', 'system'], {
        description: 'A key, a person, the operator, or Portcullis itself.',
      }),
      actor: Type.String(),
      door: openChoice(['api', 'portal', 'sftp', 'node'], { description: 'How it came.' }),
      source: textOrNull({ description: 'The address that it came from.' }),
      action: Type.String({ examples: ['power', 'command', 'people.invite'] }),
      detail: Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description:
          'The files, command, people or settings of the action. `refused`: the reason why it was not done; with `failed`, how many of its parts were not. `unconfirmed`: the reason why it is not known whether it was done.',
      }),
      times: natural({ description: 'How often it was done within a minute.' }),
    },
    { description: 'Newest first. The newest 5,000 of a server are kept, for 90 days.' },
  ),
  meta: object('ServerActivityMeta', {
    next: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'Send it as `before` for older entries; null: there are none.',
    }),
  }),
});
