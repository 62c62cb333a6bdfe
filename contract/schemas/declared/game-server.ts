import { type Static, Type } from 'typebox';
import { CLOSED, object, openChoice, sentText, sentTextOrNull, textOrNull } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import {
  formed,
  LARGEST,
  list,
  oneOf,
  slug,
  text,
  textOrNone,
  truth,
  whole,
  wholeOrNone,
} from './shapes.ts';

const VARIABLE = '^\\w{1,191}$';
const PORT_NAME = '^[a-z0-9][a-z0-9-]{0,62}$';
const CORES = '^\\d{1,4}(-\\d{1,4})?(,\\d{1,4}(-\\d{1,4})?){0,30}$';
const IMAGE = '^~?[A-Za-z0-9]([A-Za-z0-9._/:@-]*[A-Za-z0-9])?$';
const MAX_PORTS = 64;
const bound = {
  ip: formed('address', 'An address of the node.'),
  port: whole(1, 65_535, 'A port.'),
};

const protocols = Type.Optional(
  Type.Union(
    [
      list(oneOf(['tcp', 'udp'], 'A protocol.'), 'Both, or one.', { minItems: 1, maxItems: 2 }),
      Type.Null({ description: 'Those of the egg; of a server with one port.' }),
    ],
    { default: ['tcp', 'udp'] },
  ),
);

const allocation = Type.Object(
  {
    ...bound,
    protocols,
    variable: textOrNone('A variable of the egg that is set to the port.', 191, VARIABLE),
    name: textOrNone('The use of the port.', 63, PORT_NAME),
  },
  {
    ...CLOSED,
    title: 'AllocationInput',
    'x-words': ['ip', 'port', 'protocols', 'variable', 'name'],
  },
);

const variables = Type.Unsafe<Record<string, string | number | boolean>>({
  type: 'object',
  propertyNames: { pattern: VARIABLE },
  additionalProperties: {
    anyOf: [
      { type: 'string', maxLength: 16_384 },
      {
        type: 'integer',
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      { type: 'boolean' },
    ],
  },
  maxProperties: 1_000,
  description: "By environment name, within the egg's rules; the others have the egg's defaults.",
  default: {},
});

const ServerSchema = Type.Object(
  {
    uuid: formed('uuid', 'Its id for ever.', 36),
    organisation: slug('The organisation that it belongs to.'),
    service: whole(1, LARGEST, 'A service of the organisation.'),
    name: text('The name for people.'),
    node: text('The node that runs it.', 63),
    egg: text('Its egg: a file beside the fleet file, or one of the library (`listEggs`).', 1_000),
    egg_digest: Type.Optional(
      text('SHA-256 of the parsed egg. Left out: of the egg that has the name now.', 64, {
        'x-follows': 'egg',
      }),
    ),
    image: textOrNone("The label of one of the egg's images. Null: the first.", 255),
    docker_image: textOrNone(
      'An image in place of those of the egg, with ~ in front of one that is never pulled.',
      512,
      IMAGE,
    ),
    startup: textOrNone("A startup line in place of the egg's.", 16_384),
    variables: Type.Optional(variables),
    limits: Type.Object(
      {
        memory: whole(0, LARGEST, 'MiB; 0: without limit.'),
        cpu: whole(0, LARGEST, 'Percent of one core; 0: without limit.'),
        disk: whole(0, LARGEST, 'MiB; 0: without limit.'),
        swap: Type.Optional(
          whole(-1, LARGEST, 'MiB beyond its memory; -1: all that the host has.', { default: 0 }),
        ),
        io: Type.Optional(
          whole(10, 1_000, 'Weight of its reads and writes of disks beside other servers.', {
            default: 500,
          }),
        ),
        cores: textOrNone('Cores of the host that it runs on: 0-3,6. Null: all.', 200, CORES),
        oom: Type.Optional(
          truth('Whether the kernel ends its processes when its memory is full.', {
            default: true,
          }),
        ),
        entries: Type.Optional(
          whole(0, 5_000_000, 'Files, folders and links; 0: as many as its disk allows.', {
            default: 0,
          }),
        ),
        ports: Type.Optional(
          whole(0, MAX_PORTS, 'Ports in all when its people add some; 0: they add none.', {
            default: 0,
          }),
        ),
      },
      { ...CLOSED, title: 'ServerLimits' },
    ),
    allocation: Type.Optional(
      Type.Object(bound, {
        ...CLOSED,
        title: 'OneAllocation',
        writeOnly: true,
        description: 'Its one port, with the protocols of the egg. Either this or allocations.',
      }),
    ),
    allocations: Type.Optional(
      list(allocation, 'Its ports; the first one is SERVER_IP and SERVER_PORT.', {
        minItems: 1,
        maxItems: MAX_PORTS,
        'x-follows': 'allocation',
      }),
    ),
    open_while_running: Type.Optional(
      Type.Union(
        [
          Type.Boolean({ description: 'All of its ports.' }),
          list(text('A name; primary is the first one.', 63), 'Those of these names.', {
            minItems: 1,
            maxItems: 64,
            'x-unique': 'The port',
            'x-sorted': true,
          }),
        ],
        {
          description: 'Its ports are allowed while it runs, whatever denies them.',
          default: false,
        },
      ),
    ),
    mounts: Type.Optional(
      list(text('A name.', 63), 'Mounts of its node that it sees.', {
        maxItems: 64,
        'x-unique': 'The mount',
        'x-sorted': true,
        default: [],
      }),
    ),
    suspended: Type.Optional(truth('It must not run, and is not deleted.', { default: false })),
    start_with_host: Type.Optional(
      oneOf(
        ['as_before', 'always', 'never'],
        'When its host was started: as it was before, it is started, or it stays off.',
        { default: 'as_before' },
      ),
    ),
    stop_seconds: wholeOrNone(
      0,
      3_600,
      'Seconds from the stop of the egg to SIGTERM. Null: as the egg says.',
    ),
    crashes: Type.Optional(
      Type.Object(
        {
          restart: Type.Optional(truth('Whether it is started again.', { default: true })),
          within_seconds: Type.Optional(
            whole(0, 86_400, 'A crash this soon after another is counted with it.', {
              default: 60,
            }),
          ),
          tries: Type.Optional(
            whole(1, 10, 'Restarts after crashes that are counted together.', { default: 1 }),
          ),
        },
        { ...CLOSED, title: 'CrashPolicy', description: 'The reaction to an end by itself.' },
      ),
    ),
  },
  { ...CLOSED, description: 'A game server.' },
);

/** A server as it is read: one allocation is a list of one. */
export type ServerObject = Omit<Filled<Static<typeof ServerSchema>>, 'allocation' | 'variables'> & {
  readonly variables: Readonly<Record<string, string>>;
};

const eggDocument = Type.Record(Type.String(), Type.Unknown(), {
  'x-document': true,
  description:
    'An egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. Pelican exports YAML too: `readEgg` makes JSON of it. `egg` may be left out then: it is the name in it.',
});

/** Fields that a request has beside a server. */
export const BESIDE_SERVER = {
  external_id: sentTextOrNull({
    minLength: 1,
    maxLength: 255,
    description: 'What a billing system calls it; unique in its organisation.',
  }),
  egg_document: eggDocument,
};

export const SERVER = declaredKind({
  name: 'server',
  title: 'Server',
  plural: 'Servers',
  path: '/game-servers/{uuid}',
  schema: ServerSchema,
  input: BESIDE_SERVER,
  output: {
    variables: Type.Record(Type.String(), Type.String()),
    external_id: textOrNull(),
    build: object('BuildState', {
      state: openChoice(['waiting', 'building', 'built', 'failed']),
      reason: textOrNull(),
    }),
    set_by_people: Type.Array(Type.String(), {
      description:
        'Settings that its people set, as JSON pointers. A fleet file that leaves them open keeps them.',
      examples: [['/variables/MOTD']],
    }),
  },
  search: Type.Object(
    {
      organisation: Type.Optional(sentText({ maxLength: 63, description: 'Its slug.' })),
      external_id: Type.Optional(sentText({ maxLength: 255 })),
      node: Type.Optional(sentText({ maxLength: 63 })),
    },
    CLOSED,
  ),
  remarks:
    'Of a write: ports that players cannot reach, because the firewall closes them. Absent: none.',
  about: 'Its node stops it for good and keeps its files until they are purged there.',
  example: {
    organisation: 'acme',
    service: 501,
    name: 'Survival',
    node: 'node-1',
    egg: 'eggs/flying-squid.json',
    limits: { memory: 1_024, cpu: 100, disk: 2_048 },
    allocations: [{ ip: '198.51.100.10', port: 25_565 }],
  },
});
