import { Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../endpoint.ts';
import {
  Acknowledgement,
  CommandRequest,
  GameServerList,
  GameServerRead,
  PowerRequest,
} from '../schemas/game-servers.ts';

/** Any string: an invalid uuid is answered 404, like a server that the key does not see. */
export const SERVER_PARAMS = {
  slice: Type.String({
    description:
      'The uuid of the server, as the list returns it. What the key does not see is 404.',
    examples: ['6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11'],
  }),
} as const;

const common = { tag: 'Game servers', flag: null } as const;
const read = {
  ...common,
  method: 'GET',
  ability: 'game-servers.read',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;
const instruct = {
  ...common,
  method: 'POST',
  ability: 'game-servers.manage',
  params: SERVER_PARAMS,
  requestHeaders: ['Idempotency-Key'],
  idempotent: true,
  write: 'instructs',
} as const;

const LISTED = {
  uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
  identifier: '6f1c2f1e',
  name: 'Survival',
  service_id: 501,
  provisioned: true,
  limits: { memory: 1024, cpu: 100, disk: 2048 },
} as const;

/** Power and command answer 200, 422 and 502 in the acknowledgement envelope; everything else is a problem. */
const ACKNOWLEDGED = {
  ...refusals(COMMON, WITH_BODY, WITH_KEY, ['not_found']),
  200: {
    description: 'The node accepted it. That it is done shows in `state` of the server.',
    schema: Acknowledgement,
    headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
    example: { ok: true, message: '' },
  },
  422: {
    description: 'The server is not provisioned yet (an acknowledgement), or the input is wrong.',
    schema: Acknowledgement,
    problems: ['invalid_request', 'idempotency_key_reused'],
    headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
    example: { ok: false, message: 'The server is not provisioned yet.' },
  },
  502: {
    description: 'The node refused it, or did not answer in time. The message says which.',
    schema: Acknowledgement,
    headers: RATE_HEADERS,
    example: { ok: false, message: 'The node refused: the server is stopping.' },
  },
} as const;

export const GAME_SERVER_ENDPOINTS = [
  {
    ...read,
    operationId: 'listGameServers',
    path: '/game-servers',
    summary: 'List game servers',
    description:
      'The servers that the key may see, by name. A short list is a result of permissions, not a missing server. Live state is only in the read of one server.',
    responses: readResponses([], {
      description: 'The servers.',
      schema: GameServerList,
      example: { data: [LISTED] },
      links: {
        ReadServer: {
          operationId: 'readGameServer',
          description: 'Each server that is listed can be read.',
          parameters: { slice: '$response.body#/data/0/uuid' },
        },
        Instruct: {
          operationId: 'sendPowerSignal',
          description: 'And, with the ability, be started and stopped.',
          parameters: { slice: '$response.body#/data/0/uuid' },
        },
      },
    }),
  },
  {
    ...read,
    operationId: 'readGameServer',
    path: '/game-servers/{slice}',
    params: SERVER_PARAMS,
    summary: 'Read a game server',
    description:
      'One server with `state` and `resources`, asked live from its node. Null there means unknown (unprovisioned, or the node did not answer within 2 s), not offline.',
    responses: readResponses(['not_found'], {
      description: 'The server.',
      schema: GameServerRead,
      example: {
        data: {
          ...LISTED,
          state: 'running',
          resources: {
            memory_bytes: 402_653_184,
            memory_limit_bytes: 1_073_741_824,
            cpu_absolute: 12.345,
            disk_bytes: 73_400_320,
            network_rx_bytes: 1_204_224,
            network_tx_bytes: 9_830_400,
            uptime: 3_600_000,
          },
        },
      },
    }),
  },
  {
    ...instruct,
    operationId: 'sendPowerSignal',
    path: '/game-servers/{slice}/power',
    summary: 'Send a power signal',
    description:
      'Sends `start`, `stop`, `restart` or `kill` to the node. `kill` ends the process at once, without letting the server save: prefer `stop` unless it is unresponsive. A signal without effect (a start of a running server) is accepted.',
    body: PowerRequest,
    bodyExamples: { restart: { signal: 'restart' } },
    responses: ACKNOWLEDGED,
  },
  {
    ...instruct,
    operationId: 'sendCommand',
    path: '/game-servers/{slice}/command',
    summary: 'Send a console command',
    description:
      'Sends one line to the console of the server. The answer carries no console output: it says whether the node took the line.',
    body: CommandRequest,
    bodyExamples: { say: { command: 'say Restart in five minutes' } },
    responses: ACKNOWLEDGED,
  },
] as const satisfies readonly Endpoint[];
