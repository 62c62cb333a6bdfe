import { type TProperties, Type } from 'typebox';
import { owner } from './operator.ts';
import {
  answer,
  choice,
  CLOSED,
  integer,
  integerOrNull,
  natural,
  object,
  openChoice,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
} from './values.ts';

const LARGEST = 2_147_483_647;
const mib = integer({ minimum: 1, maximum: LARGEST, description: 'MiB.' });
const limits = {
  memory: mib,
  cpu: integer({ minimum: 1, maximum: LARGEST, description: 'Percent of one core.' }),
  disk: mib,
};
const protocols = Type.Array(choice(['tcp', 'udp']), { minItems: 1, maxItems: 2 });
const variable = Type.Union([
  sentText({ maxLength: 16_384 }),
  Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  Type.Boolean(),
]);

const AllocationInput = sent('AllocationInput', {
  ip: sentText({ minLength: 2, maxLength: 50, description: 'An address of the node.' }),
  port: integer({ minimum: 1, maximum: 65_535 }),
  protocols: Type.Optional(protocols),
  variable: Type.Optional(
    Type.String({ pattern: '^\\w{1,191}$', description: 'Is set to the port.' }),
  ),
  name: Type.Optional(
    Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'What the port is for.' }),
  ),
});

const settings = {
  external_id: sentTextOrNull({
    minLength: 1,
    maxLength: 255,
    description: 'What a billing system calls it; unique in its organisation.',
  }),
  service_id: integer({ minimum: 1, maximum: LARGEST, description: 'A service of it.' }),
  name: sentText({ minLength: 1, maxLength: 200 }),
  node: sentTextOrNull({
    minLength: 1,
    maxLength: 63,
    description: 'Null or left out: one that has room, is connected and has the addresses.',
  }),
  egg: sentText({
    minLength: 1,
    maxLength: 1_000,
    description:
      'A name of the library (`listEggs`); with `egg_document` any name. Left out with a document: the name in it.',
  }),
  egg_document: Type.Record(Type.String(), Type.Unknown(), {
    'x-document': true,
    description:
      'An egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. Pelican exports YAML too: `readEgg` makes JSON of it.',
  }),
  image: sentTextOrNull({
    maxLength: 255,
    description: "The label of one of the egg's images. Null: the first.",
  }),
  variables: Type.Record(Type.String({ pattern: '^\\w{1,191}$' }), variable, {
    maxProperties: 1_000,
    description: "By environment name, within the egg's rules; whole.",
  }),
  limits: sent('ServerLimits', limits),
  allocations: Type.Array(AllocationInput, {
    minItems: 1,
    maxItems: 64,
    description: 'The first one is SERVER_IP and SERVER_PORT. Left out: a free port of the node.',
  }),
  open_while_running: Type.Union(
    [
      Type.Boolean(),
      Type.Array(sentText({ minLength: 1, maxLength: 63 }), { minItems: 1, maxItems: 64 }),
    ],
    { description: 'Its ports, or those of these names, are allowed while it runs.' },
  ),
  suspended: Type.Boolean({ description: 'It must not run, and is not deleted.' }),
  crashes: sent('CrashPolicyInput', {
    restart: Type.Optional(Type.Boolean()),
    within_seconds: Type.Optional(
      integer({
        minimum: 0,
        maximum: 86_400,
        description: 'A crash this soon after another leaves it offline. Default: 60.',
      }),
    ),
  }),
};

function optional<T extends TProperties>(fields: T) {
  return Type.Partial(Type.Object(fields)).properties;
}

const { service_id, name, limits: serverLimits, ...others } = settings;

export const ServerInput = sent(
  'ServerInput',
  'A server with an external id that its organisation has already is answered as it is.',
  {
    organisation: sentText({ minLength: 1, maxLength: 63, description: 'Its slug.' }),
    service_id,
    name,
    limits: serverLimits,
    ...optional(others),
  },
);

export const ServerChange = sent('ServerChange', 'What is left out stays as it is.', {
  ...optional(settings),
  allow_losses: Type.Optional(
    Type.Boolean({ description: 'Also if it is built anew on another node, without its files.' }),
  ),
});

const OperatedServer = object('OperatedServer', {
  uuid: Type.String(),
  external_id: textOrNull(),
  organisation: Type.String(),
  service_id: natural(),
  name: Type.String(),
  node: Type.String(),
  egg: Type.String(),
  image: textOrNull(),
  variables: Type.Record(Type.String(), Type.String()),
  limits: object('OperatedServerLimits', limits),
  allocations: Type.Array(
    object('Allocation', {
      ip: Type.String(),
      port: natural(),
      protocols,
      variable: textOrNull(),
      name: textOrNull(),
    }),
  ),
  open_while_running: Type.Union([Type.Boolean(), Type.Array(Type.String())]),
  suspended: Type.Boolean(),
  crashes: object('CrashPolicy', { restart: Type.Boolean(), within_seconds: Type.Number() }),
  build: object('BuildState', {
    state: openChoice(['waiting', 'building', 'built', 'failed']),
    reason: textOrNull(),
  }),
  owner,
});

export const OperatedServers = object('OperatedServers', {
  data: Type.Array(OperatedServer),
  message: Type.Optional(
    Type.String({
      description:
        'Of a write: ports that players cannot reach, because the firewall closes them. Absent: none.',
    }),
  ),
});

export const ServerQuery = Type.Object(
  {
    organisation: Type.Optional(sentText({ maxLength: 63, description: 'Its slug.' })),
    external_id: Type.Optional(sentText({ maxLength: 255 })),
    node: Type.Optional(sentText({ maxLength: 63 })),
  },
  CLOSED,
);

const EggVariable = object('EggVariable', {
  env: Type.String(),
  name: Type.String(),
  default: Type.String(),
  rules: Type.Array(Type.String()),
});

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
