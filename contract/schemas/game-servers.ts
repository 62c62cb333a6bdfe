import { Type } from 'typebox';
import {
  choice,
  CLOSED,
  natural,
  openChoiceOrNull,
  orNull,
  sentText,
  textOrNull,
} from './values.ts';

export const SERVER_STATES = ['offline', 'starting', 'running', 'stopping', 'paused'] as const;
export const POWER_SIGNALS = ['start', 'stop', 'restart', 'kill'] as const;

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
  limits: Type.Object(
    {
      memory: natural({ description: 'MiB.', examples: [1024] }),
      cpu: natural({ description: 'Percent of one core: 200 is two cores.', examples: [100] }),
      disk: natural({ description: 'MiB.', examples: [2048] }),
    },
    { title: 'GameServerLimits', description: 'What the server may use.' },
  ),
};

export const GameServer = Type.Object(serverFields, {
  title: 'GameServer',
  description: 'A game server as listed.',
});

export const GameServerResources = Type.Object(
  {
    memory_bytes: natural(),
    memory_limit_bytes: natural({ description: 'As `limits.memory` has it.' }),
    cpu_absolute: Type.Number({ minimum: 0, description: 'Percent of one core.' }),
    disk_bytes: natural(),
    network_rx_bytes: natural({ description: 'Received since the start.' }),
    network_tx_bytes: natural({ description: 'Sent since the start.' }),
    uptime: natural({ description: 'Milliseconds since the start; 0 while offline.' }),
  },
  { title: 'GameServerResources', description: 'What the server uses now, from its node.' },
);

const UNKNOWN_WHEN =
  'null: unprovisioned, or the node did not answer. Null is unknown, not offline.';

export const GameServerDetail = Type.Object(
  {
    ...serverFields,
    state: openChoiceOrNull(SERVER_STATES, { description: `Live from the node; ${UNKNOWN_WHEN}` }),
    resources: orNull(GameServerResources, {
      description: `Live from the node; ${UNKNOWN_WHEN} Also in the first seconds of a server, before it was measured.`,
    }),
  },
  { title: 'GameServerDetail', description: 'A game server with its live state.' },
);

export const GameServerList = Type.Object(
  { data: Type.Array(GameServer, { description: 'By name, then uuid.' }) },
  { title: 'GameServerList' },
);

export const GameServerRead = Type.Object({ data: GameServerDetail }, { title: 'GameServerRead' });

export const PowerRequest = Type.Object(
  {
    signal: choice(POWER_SIGNALS, {
      description: '`kill` ends the process at once, without a save; prefer `stop`.',
    }),
  },
  { ...CLOSED, title: 'PowerRequest' },
);

export const CommandRequest = Type.Object(
  {
    command: sentText({
      minLength: 1,
      maxLength: 2048,
      description:
        'One line for the console: 1 to 2048 characters (code points). A server in a container has a terminal, which takes 4095 bytes a line: a longer one, such as 2048 emoji, is refused by its node (502), never cut.',
      examples: ['say Restart in five minutes'],
    }),
  },
  { ...CLOSED, title: 'CommandRequest' },
);

export const Acknowledgement = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the node took it. Not whether it is done.' }),
    message: Type.String({ description: 'Empty when accepted, else why not.' }),
  },
  { title: 'Acknowledgement', description: 'Whether the node accepted an instruction.' },
);
