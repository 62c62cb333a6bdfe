import { Type } from 'typebox';
import { viewSchema, writtenSchema } from './declared/declared-answers.ts';
import { BESIDE_SERVER, SERVER } from './declared/game-server.ts';
import { EggVariable } from './server-settings.ts';
import {
  answer,
  arrayOf,
  integerOrNull,
  object,
  openChoice,
  orNull,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const { uuid: _uuid, organisation, service, name, limits, ...others } = SERVER.schema.properties;

/** A server that has no uuid yet. */
export const ServerInput = sent(
  'ServerOrder',
  'A server with an external id that its organisation has already is answered as it is.',
  {
    organisation,
    service,
    name,
    limits,
    ...Type.Partial(Type.Object({ ...others, ...BESIDE_SERVER })).properties,
    node: Type.Optional(
      sentTextOrNull({
        minLength: 1,
        maxLength: 63,
        description: 'Null or left out: one that has room, is connected and has the addresses.',
      }),
    ),
  },
);

export const WrittenServer = writtenSchema(SERVER, viewSchema(SERVER));

const DeletedServer = object(
  'DeletedServer',
  'A server whose files are still on a node that it is no longer assigned to.',
  {
    uuid: Type.String({ format: 'uuid' }),
    name: Type.String(),
    organisation: Type.String({ description: 'The slug of its last organisation.' }),
    node: Type.String({ description: 'Where its files are.' }),
    external_id: textOrNull(),
    deleted_at: timestamp(),
    purge_at: timestampOrNull({
      description: 'When its files are purged. Null: not before that is requested.',
    }),
    days_left: integerOrNull({
      description: 'Until then, begun ones too; 0: the node purges it now.',
    }),
    moved: Type.Boolean({
      description: 'It lives on another node; these are the files that it left behind.',
    }),
  },
);

export const DeletedServers = object('DeletedServers', {
  data: Type.Array(DeletedServer, {
    description: 'Deleted servers, the first that is purged before the others.',
  }),
});

const EggHost = object('EggHost', 'A node of the fleet, and whether it can run the egg now.', {
  node: Type.String(),
  ok: Type.Boolean(),
  reason: textOrNull({ description: 'Why not; null: it can.' }),
  commands: Type.Array(Type.String(), { description: 'What to run on its host, in order.' }),
  image: textOrNull({ description: 'The image that has to be made first (`makeImage`).' }),
});

const eggFields = {
  name: Type.String({ description: 'The name that `egg` of a server takes.' }),
  digest: Type.String({ description: 'SHA-256 of the parsed egg: `egg_digest` of a server.' }),
  icon: textOrNull({ description: 'A `data:` URI of an image.' }),
  author: textOrNull(),
  title: Type.String(),
  description: Type.String(),
  images: Type.Array(Type.String(), { description: 'Their labels.' }),
  variables: Type.Array(EggVariable),
  hosts: Type.Array(EggHost, { description: 'With the first of its images.' }),
};

const Egg = object('Egg', eggFields);

const ListedEgg = object('ListedEgg', {
  ...eggFields,
  shipped: Type.Boolean({ description: 'It comes with this version; else an operator added it.' }),
  offered: Type.Boolean({ description: 'Owners of organisations may choose it.' }),
  source: textOrNull({ description: 'The URL that it came from.' }),
});

export const Eggs = object('Eggs', {
  data: Type.Array(ListedEgg, { description: 'Eggs, by title.' }),
});

const EggChange = object('EggChange', 'The difference to the egg that the library has.', {
  fields: arrayOf(
    {
      field: Type.String({ description: 'Such as `startup` or `variables.MOTD`.' }),
      before: textOrNull({ description: 'Null: there was none.' }),
      after: textOrNull({ description: 'Null: there is none any more.' }),
    },
    { description: 'Empty: nothing that has an effect here.' },
  ),
  servers: arrayOf(
    {
      uuid: Type.String({ format: 'uuid' }),
      name: Type.String(),
      organisation: Type.String(),
      current: Type.Boolean({ description: 'It has this very egg.' }),
    },
    { description: 'Servers that were made from it. They keep the egg that they have.' },
  ),
});

export const EggSourceInput = sent('EggSourceInput', 'Either url or text.', {
  url: Type.Optional(
    sentText({
      minLength: 1,
      maxLength: 2_000,
      description: 'Where the file is. Only public addresses are fetched from.',
    }),
  ),
  text: Type.Optional(
    Type.String({
      maxLength: 400_000,
      'x-document': true,
      description: 'The file itself, JSON or YAML.',
    }),
  ),
  name: Type.Optional(
    sentText({
      minLength: 1,
      maxLength: 63,
      description: 'An egg of the library that it would replace: the answer has the difference.',
    }),
  ),
});

export const ReadEgg = answer('ReadEgg', {
  egg: Egg,
  document: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What `egg_document` of a server takes.',
  }),
  notes: Type.Array(Type.String(), { description: 'What of the file has no effect here.' }),
  change: orNull(EggChange, { description: 'Null: no `name` was given, or it is a new one.' }),
});

export const ServerEgg = answer('ServerEgg', { egg: Egg });

const HostImage = object('HostImage', {
  node: Type.String(),
  name: Type.String(),
  reference: Type.String({ description: 'How eggs name it.' }),
  state: openChoice(['unknown', 'missing', 'building', 'ready', 'failed'], {
    description: '`unknown`: Docker does not answer there.',
  }),
  step: textOrNull({ description: 'What is being done. Null unless it is being built.' }),
  percent: integerOrNull({ description: 'Of the work. Null unless it is being built.' }),
  problem: textOrNull({ description: 'Why the last build failed.' }),
});

export const HostImages = object('HostImages', { data: Type.Array(HostImage) });
