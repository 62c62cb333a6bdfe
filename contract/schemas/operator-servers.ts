import { Type } from 'typebox';
import { viewSchema, writtenSchema } from './declared/declared-answers.ts';
import { BESIDE_SERVER, SERVER } from './declared/game-server.ts';
import { EggVariable } from './server-settings.ts';
import {
  answer,
  integerOrNull,
  object,
  openChoice,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
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

const EggHost = object('EggHost', 'A node of the fleet, and whether it can run the egg now.', {
  node: Type.String(),
  ok: Type.Boolean(),
  reason: textOrNull({ description: 'Why not; null: it can.' }),
  commands: Type.Array(Type.String(), { description: 'What to run on its host, in order.' }),
  image: textOrNull({ description: 'The image that has to be made first (`makeImage`).' }),
});

const Egg = object('Egg', {
  name: Type.String({ description: 'What `egg` of a server takes.' }),
  title: Type.String(),
  description: Type.String(),
  images: Type.Array(Type.String(), { description: 'Their labels.' }),
  variables: Type.Array(EggVariable),
  hosts: Type.Array(EggHost, { description: 'With the first of its images.' }),
});

export const Eggs = object('Eggs', { data: Type.Array(Egg) });

export const EggSourceInput = sent('EggSourceInput', 'One of the two.', {
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
});

export const ReadEgg = answer('ReadEgg', {
  egg: Egg,
  document: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What `egg_document` of a server takes.',
  }),
  notes: Type.Array(Type.String(), { description: 'What of the file has no effect here.' }),
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
