import { Type } from 'typebox';
import { SERVER } from './declared/game-server.ts';
import { EggVariable } from './server-settings.ts';
import {
  answer,
  arrayOf,
  id,
  integer,
  IpAddress,
  natural,
  object,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
} from './values.ts';

const { properties: server } = SERVER.schema;
const LARGEST = 2_147_483_647;

const amounts = {
  servers: natural({ description: 'Servers.' }),
  memory: natural({ description: 'MiB.' }),
  cpu: natural({ description: 'Percent of one core.' }),
  disk: natural({ description: 'MiB.' }),
};

const Amounts = object('ServerAmounts', 'Servers, and what they have together.', amounts);

export const ServerQuota = answer('ServerQuota', {
  limits: Amounts,
  used: Amounts,
  services: arrayOf(
    { id: natural(), name: Type.String() },
    {
      description:
        'The active services of the organisation, by id: what `service` of a new server takes, the first by default.',
    },
  ),
});

const OfferedEgg = object('OfferedEgg', 'A game of which servers can be made.', {
  name: Type.String({ description: 'What `egg` of a new server takes.' }),
  title: Type.String(),
  description: Type.String(),
  author: textOrNull(),
  icon: textOrNull({ description: 'A `data:` URI of a PNG, JPEG, WebP or SVG image.' }),
  images: Type.Array(Type.String(), { description: 'Their labels; the first is the default.' }),
  variables: Type.Array(EggVariable),
  protocols: Type.Array(Type.String(), { description: 'Those of its ports.' }),
  filters: arrayOf(
    { type: Type.String(), name: Type.String() },
    { description: 'The stateful filters that fit its ports.' },
  ),
});

export const OfferedEggs = object('OfferedEggs', {
  data: Type.Array(OfferedEgg, { description: 'Eggs, by title.' }),
});

const size = (description: string) => integer({ minimum: 1, maximum: LARGEST, description });
const limits = Type.Object(
  {
    memory: size('MiB.'),
    cpu: size('Percent of one core.'),
    disk: size('MiB.'),
  },
  { additionalProperties: false, title: 'NewServerLimits' },
);

const egg = sentText({
  minLength: 1,
  maxLength: 200,
  description: 'A name of the library (`listOfferedEggs`).',
});
const image = sentTextOrNull({
  minLength: 1,
  maxLength: 255,
  description: "The label of one of the egg's images. Null: the first.",
});

export const PlacesRequest = sent('PlacesRequest', {
  egg,
  image: Type.Optional(image),
  limits,
});

export const ServerPlaces = object('ServerPlaces', {
  data: arrayOf(
    {
      node: Type.String(),
      fits: Type.Boolean(),
      reason: textOrNull({ description: 'Why not; null: it fits.' }),
    },
    { description: 'Every node, by name.' },
  ),
});

export const NewServer = sent('NewServer', {
  name: sentText({ minLength: 1, maxLength: 200, description: 'The name for people.' }),
  egg,
  image: Type.Optional(image),
  variables: server.variables,
  limits,
  node: Type.Optional(
    sentTextOrNull({
      minLength: 1,
      maxLength: 63,
      description: 'Null or left out: the one with the most memory left of those where it fits.',
    }),
  ),
  service: Type.Optional(
    id({ description: 'A service of the organisation. Left out: its first active one.' }),
  ),
});

export const MadeServer = object('MadeServer', {
  data: object('NewServerView', {
    uuid: Type.String({ format: 'uuid' }),
    name: Type.String(),
    egg: Type.String(),
    node: Type.String(),
    service_id: natural(),
    limits: object('NewServerSize', { memory: natural(), cpu: natural(), disk: natural() }),
    allocation: object('NewServerAddress', 'Where players will reach it.', {
      ip: IpAddress,
      port: integer({ minimum: 1, maximum: 65_535 }),
    }),
  }),
  message: Type.String(),
});
