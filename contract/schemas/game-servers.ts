import { Type } from 'typebox';
import {
  choice,
  CLOSED,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  numberOrNull,
  object,
  openChoice,
  openChoiceOrNull,
  orNull,
  Port,
  sent,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const SERVER_STATES = ['offline', 'starting', 'running', 'stopping', 'paused'] as const;
const POWER_SIGNALS = ['start', 'stop', 'restart', 'kill'] as const;

const serverFields = {
  uuid: Type.String({
    format: 'uuid',
    description: 'What every other operation on the server takes.',
    examples: ['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11'],
  }),
  identifier: textOrNull({
    description: 'A short value for people; null until provisioned. Never taken as a parameter.',
    examples: ['6f1c2f1e'],
  }),
  name: Type.String({ examples: ['Survival'] }),
  service_id: natural({ description: 'The service that the server belongs to.', examples: [501] }),
  provisioned: Type.Boolean({
    description: 'False until the node has built the server; power and command answer 422 so long.',
  }),
  limits: object('GameServerLimits', 'What the server may use.', {
    memory: natural({ description: 'MiB.', examples: [1024] }),
    cpu: natural({ description: 'Percent of one core: 200 is two cores.', examples: [100] }),
    disk: natural({ description: 'MiB.', examples: [2048] }),
  }),
};

const GameServer = object('GameServer', 'A game server as listed.', serverFields);

const GameServerResources = object(
  'GameServerResources',
  'What the server uses now, from its node.',
  {
    memory_bytes: natural(),
    memory_limit_bytes: natural({ description: 'As `limits.memory` has it.' }),
    cpu_absolute: Type.Number({ minimum: 0, description: 'Percent of one core.' }),
    disk_bytes: natural(),
    network_rx_bytes: natural({ description: 'Received since the start.' }),
    network_tx_bytes: natural({ description: 'Sent since the start.' }),
    uptime: natural({ description: 'Milliseconds since the start; 0 while offline.' }),
  },
);

const UNKNOWN_WHEN =
  'null: unprovisioned, or the node did not answer. Null is unknown, not offline.';

const GameServerDetail = object('GameServerDetail', 'A game server with its live state.', {
  ...serverFields,
  state: openChoiceOrNull(SERVER_STATES, { description: `Live from the node; ${UNKNOWN_WHEN}` }),
  resources: orNull(GameServerResources, {
    description: `Live from the node; ${UNKNOWN_WHEN} Also in the first seconds of a server, before it was measured.`,
  }),
});

export const GameServerList = object('GameServerList', {
  data: Type.Array(GameServer, { description: 'By name, then uuid.' }),
});

export const GameServerRead = object('GameServerRead', { data: GameServerDetail });

export const PowerRequest = sent('PowerRequest', {
  signal: choice(POWER_SIGNALS, {
    description: '`kill` ends the process at once, without a save; prefer `stop`.',
  }),
});

export const CommandRequest = sent('CommandRequest', {
  command: sentText({
    minLength: 1,
    maxLength: 2048,
    description:
      'One line for the console: 1 to 2048 characters (code points). A server in a container has a terminal, which takes 4095 bytes a line: a longer one, such as 2048 emoji, is refused by its node (502), never cut.',
    examples: ['say Restart in five minutes'],
  }),
});

export const Acknowledgement = object(
  'Acknowledgement',
  'Whether the node accepted an instruction.',
  {
    ok: Type.Boolean({ description: 'Whether the node took it. Not whether it is done.' }),
    message: Type.String({ description: 'Empty when accepted, else why not.' }),
  },
);

const BUILD_STATES = ['waiting', 'building', 'built', 'failed'] as const;

/** The most console lines per response. */
const MAX_CONSOLE_LINES = 1000;

const Allocation = object('Allocation', 'Where players reach it.', {
  ip: IpAddress,
  port: integer({ minimum: 1, maximum: 65_535, examples: [25_565] }),
});

const GameServerStatus = object('GameServerStatus', {
  uuid: Type.String({ format: 'uuid', examples: ['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11'] }),
  name: Type.String({ examples: ['Survival'] }),
  service_id: natural({ examples: [501] }),
  service_name: Type.String({ examples: ['survival-1'] }),
  state: openChoiceOrNull(SERVER_STATES, {
    description:
      'As its node last reported it; nodes report a change at once. Null: unknown, because the server is not provisioned, or its node or the engine there is away.',
  }),
  build_state: openChoice(BUILD_STATES),
  suspended: Type.Boolean({ description: 'The operator lets it not run.' }),
  crashed_at: timestampOrNull({
    description: 'When it last ended by itself while it should run; null: not since its start.',
  }),
  node: Type.String({ description: 'Where it runs.', examples: ['node-1'] }),
  node_connected: Type.Boolean({ description: 'Whether its node reported lately.' }),
  egg: Type.String({ description: 'What it is.', examples: ['eggs/flying-squid.json'] }),
  allocation: Allocation,
});

export const GameServerStatuses = object('GameServerStatuses', {
  data: Type.Array(GameServerStatus, { description: 'By name, then uuid.' }),
});

export const GameServerBuild = object(
  'GameServerBuild',
  'How far the node is with building a server.',
  {
    data: object('GameServerBuildState', {
      uuid: Type.String({ format: 'uuid', examples: ['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11'] }),
      state: openChoice(BUILD_STATES, {
        description:
          '`waiting`: its node has not begun. `building`: image, folder and install. `built`: provisioned. `failed`: see `reason` and `log`.',
      }),
      reason: textOrNull({ description: 'Why it failed or waits, in words.' }),
      log: textOrNull({ description: 'The last lines of the install, while it runs and after.' }),
      epoch: natural({ description: 'How often it was asked to be built.', examples: [1] }),
      node: Type.String({ description: 'Where it runs.', examples: ['node-1'] }),
      node_connected: Type.Boolean({ description: 'Whether its node reported lately.' }),
      egg: Type.String({ description: 'What it is.', examples: ['eggs/flying-squid.json'] }),
      suspended: Type.Boolean({ description: 'The operator lets it not run.' }),
      own: Type.Boolean({
        description: 'Owners of the organisation made it within its quota, so they may delete it.',
      }),
      rights: Type.Array(Type.String(), {
        description: 'The rights of the caller to it, as `listServerPeople` explains them.',
      }),
      problem: textOrNull({
        description:
          'What is amiss with a server that is built, live from its node: why its start failed, why it ended. Null: nothing, or the node did not answer within 2 s.',
      }),
      allocation: Allocation,
      allocations: Type.Array(
        object('ServerPort', {
          ip: IpAddress,
          port: Port,
          protocols: Type.Array(openChoice(['tcp', 'udp'])),
          variable: textOrNull({ description: 'The variable that has the port.' }),
          name: textOrNull({ description: 'What the port is for.', examples: ['query'] }),
        }),
        {
          description:
            'All ports, the first one too. Empty: `allocation` alone, with the protocols of the egg.',
        },
      ),
      suggested_filters: Type.Array(
        object('SuggestedFilter', {
          ip: IpAddress,
          port: Port,
          protocol: openChoice(['tcp', 'udp']),
          type: Type.String({ description: 'The slug.', examples: ['minecraft-java'] }),
          name: Type.String({ examples: ['Minecraft: Java Edition'] }),
        }),
        { description: 'The filter that fits each port of its game, whether it is there or not.' },
      ),
      open_while_running: Type.Union([Type.Boolean(), Type.Array(Type.String())], {
        description:
          'Its ports are allowed while it runs, whatever denies them: all, or those of these names.',
      }),
      ports_open: Type.Boolean({
        description: 'Its ports are allowed for that reason, as far as is accepted.',
      }),
    }),
  },
);

const ServerSample = object('ServerSample', {
  at: timestamp({ description: 'The minute.' }),
  memory_bytes: natural(),
  cpu_absolute: Type.Number({ minimum: 0, description: 'Percent of one core.' }),
  disk_bytes: natural(),
  network_rx_bytes_per_second: numberOrNull({
    description:
      'Received since the sample before. Null: there is none of the five minutes before, or it was started again.',
  }),
  network_tx_bytes_per_second: numberOrNull({ description: 'Sent, likewise.' }),
});

const ServerHappening = object('ServerHappening', {
  at: timestamp(),
  kind: openChoice(['server.state', 'server.crashed', 'server.build']),
  state: textOrNull({ description: 'What it became.', examples: ['running'] }),
  from: textOrNull({ description: 'What it was, of a change of state.' }),
});

export const GameServerHistory = object('GameServerHistory', 'The last day of a server.', {
  data: object('GameServerHistoryData', {
    samples: Type.Array(ServerSample, {
      description:
        'What it used, oldest first: one reading a minute while it ran and its node was connected.',
    }),
    events: Type.Array(ServerHappening, {
      description: 'What happened to it, oldest first; the newest thousand.',
    }),
  }),
  meta: object('GameServerHistoryMeta', 'The day that is kept.', {
    from: timestamp(),
    to: timestamp(),
  }),
});

export const Reinstalled = object('Reinstalled', {
  data: Type.Object({
    uuid: Type.String({ format: 'uuid' }),
    epoch: natural({ description: 'How often it was asked to be built.' }),
  }),
  message: Type.String({ description: 'What was accepted.' }),
});

export const ConsoleQuery = Type.Object(
  {
    lines: Type.Optional(
      integer({
        minimum: 1,
        maximum: MAX_CONSOLE_LINES,
        default: 100,
        description: 'How many of the last lines.',
      }),
    ),
    colours: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether lines keep the escape sequences of their colours (`ESC [ … m`). All others are removed always.',
      }),
    ),
  },
  CLOSED,
);

export const Console = object('Console', 'What a server wrote last.', {
  data: object('ConsoleLines', {
    lines: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description:
        'Oldest first. Null: unknown, because the server is not provisioned or the node did not answer.',
    }),
    last_number: integerOrNull({
      description:
        'Number of the last line. Each line has the next, also when its node begins anew it never goes back: by how much it rose says how many lines are new. Null: unknown.',
    }),
  }),
});
