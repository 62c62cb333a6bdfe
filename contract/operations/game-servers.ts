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
  Console,
  ConsoleQuery,
  GameServerBuild,
  GameServerHistory,
  GameServerList,
  GameServerRead,
  GameServerStatuses,
  PowerRequest,
  Reinstalled,
} from '../schemas/game-servers.ts';
import { ReinstallQuery } from '../schemas/server-settings.ts';

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
    waits: true,
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

const readOne = { ...read, params: SERVER_PARAMS } as const;

/** Operations on game servers beyond the public interface. */
export const X1_GAME_SERVER_ENDPOINTS = [
  {
    ...read,
    operationId: 'listGameServerStatuses',
    path: '/game-servers',
    summary: 'List game servers with their state',
    description:
      'The servers that the key may see, with what their nodes last reported. It asks no node, so it is as fast for a thousand servers as for one; `readGameServer` asks the node of one.',
    responses: readResponses([], {
      description: 'The servers.',
      schema: GameServerStatuses,
      example: {
        data: [
          {
            uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
            name: 'Survival',
            service_id: 501,
            service_name: 'survival-1',
            state: 'running',
            build_state: 'built',
            suspended: false,
            crashed_at: null,
            node: 'node-1',
            node_connected: true,
            egg: 'eggs/flying-squid.json',
            allocation: { ip: '198.51.100.10', port: 25_565 },
          },
        ],
      },
    }),
  },
  {
    ...readOne,
    operationId: 'readGameServerBuild',
    waits: true,
    path: '/game-servers/{slice}/build',
    summary: 'See how far a server is built',
    description:
      'Whether the node has built the server, and why not: the reason in words, and the last lines of an install that failed. Of a built one, what is amiss with it now.',
    responses: readResponses(['not_found'], {
      description: 'The build.',
      schema: GameServerBuild,
      example: {
        data: {
          uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
          state: 'failed',
          reason: 'The install ended with code 1.',
          log: 'no space left on device',
          epoch: 1,
          node: 'node-1',
          node_connected: true,
          egg: 'eggs/flying-squid.json',
          suspended: false,
          own: false,
          rights: ['websocket.connect', 'control.console'],
          problem: null,
          allocation: { ip: '198.51.100.10', port: 25_565 },
          allocations: [],
          suggested_filters: [
            {
              ip: '198.51.100.10',
              port: 25_565,
              protocol: 'tcp',
              type: 'minecraft-java',
              name: 'Minecraft: Java Edition',
            },
          ],
          open_while_running: false,
          ports_open: false,
        },
      },
    }),
  },
  {
    ...readOne,
    operationId: 'readGameServerHistory',
    path: '/game-servers/{slice}/history',
    summary: 'Read the last day of a server',
    description:
      'What it used, by minute, and what happened to it: changes of state, crashes, builds. Attacks on its addresses are in `listAttacks`.',
    responses: readResponses(['not_found'], {
      description: 'The last day.',
      schema: GameServerHistory,
      example: {
        data: {
          samples: [
            {
              at: '2026-11-21T02:00:00+00:00',
              memory_bytes: 402_653_184,
              cpu_absolute: 12.345,
              disk_bytes: 73_400_320,
              network_rx_bytes_per_second: 1204.5,
              network_tx_bytes_per_second: 9830.4,
            },
          ],
          events: [
            {
              at: '2026-11-21T01:58:12+00:00',
              kind: 'server.state',
              state: 'running',
              from: 'starting',
            },
          ],
        },
        meta: { from: '2026-11-20T02:00:30+00:00', to: '2026-11-21T02:00:30+00:00' },
      },
    }),
  },
  {
    ...readOne,
    operationId: 'readConsole',
    waits: true,
    path: '/game-servers/{slice}/console',
    ability: 'game-servers.manage',
    summary: 'Read the last lines of a console',
    description:
      'What the server wrote last, asked live from its node, which waits 2 s at most. Needs the ability to type there: a console shows more than state, such as addresses of players.',
    query: ConsoleQuery,
    responses: readResponses(['not_found'], {
      description: 'The lines.',
      schema: Console,
      example: {
        data: {
          lines: ['[12:00:01] Done (2.1s)!', '[12:00:09] alex joined the game'],
          last_number: 1_795_262_410_123,
        },
      },
    }),
  },
  {
    ...common,
    operationId: 'reinstallGameServer',
    method: 'POST',
    path: '/game-servers/{slice}/reinstall',
    params: SERVER_PARAMS,
    query: ReinstallQuery,
    ability: 'game-servers.manage',
    write: true,
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    summary: 'Install a server again',
    description:
      'Its node stops it, gets the image and runs the install of its egg again: after a failed build, or to get what a new version installs. Files stay as far as the install keeps them, unless `files` says otherwise. Until it is built it cannot be started; the build says how far it is. A server that is suspended is left as it is. A person needs the right `settings.reinstall`; files that are not kept need `file.delete` too, a key `game-servers.files`.',
    responses: {
      ...refusals(COMMON, WITH_KEY, ['not_found', 'conflict']),
      200: {
        description: 'Accepted. Its node is asked now.',
        schema: Reinstalled,
        headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
        example: {
          data: { uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11', epoch: 2 },
          message: 'The server is installed again.',
        },
        links: {
          Build: {
            operationId: 'readGameServerBuild',
            description: 'Shows how far it is.',
            parameters: { slice: '$request.path.slice' },
          },
        },
      },
    },
  },
] as const satisfies readonly Endpoint[];
