import { Type } from 'typebox';
import {
  choice,
  natural,
  object,
  openChoiceOrNull,
  orNull,
  sent,
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
  limits: object('GameServerLimits', 'What the server may use.', {
    memory: natural({ description: 'MiB.', examples: [1024] }),
    cpu: natural({ description: 'Percent of one core: 200 is two cores.', examples: [100] }),
    disk: natural({ description: 'MiB.', examples: [2048] }),
  }),
};

export const GameServer = object('GameServer', 'A game server as listed.', serverFields);

export const GameServerResources = object(
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

export const GameServerDetail = object('GameServerDetail', 'A game server with its live state.', {
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
