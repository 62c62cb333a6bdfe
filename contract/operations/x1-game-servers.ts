import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_KEY,
} from '../endpoint.ts';
import {
  Console,
  ConsoleQuery,
  GameServerBuild,
  GameServerHistory,
  GameServerStatuses,
  Reinstalled,
} from '../schemas/x1-game-servers.ts';
import { SERVER_PARAMS } from './game-servers.ts';

const common = {
  tag: 'Game servers',
  flag: null,
  method: 'GET',
  params: SERVER_PARAMS,
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;

/** Operations on game servers beyond the public interface. */
export const X1_GAME_SERVER_ENDPOINTS = [
  {
    tag: 'Game servers',
    flag: null,
    operationId: 'listGameServerStatuses',
    method: 'GET',
    path: '/game-servers',
    ability: 'game-servers.read',
    write: false,
    requestHeaders: ['If-None-Match'],
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
    ...common,
    operationId: 'readGameServerBuild',
    path: '/game-servers/{slice}/build',
    ability: 'game-servers.read',
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
          problem: null,
          allocation: { ip: '198.51.100.10', port: 25_565 },
          allocations: [],
          open_while_running: false,
          ports_open: false,
        },
      },
    }),
  },
  {
    ...common,
    operationId: 'readGameServerHistory',
    path: '/game-servers/{slice}/history',
    ability: 'game-servers.read',
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
    ...common,
    operationId: 'readConsole',
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
    tag: 'Game servers',
    flag: null,
    operationId: 'reinstallGameServer',
    method: 'POST',
    path: '/game-servers/{slice}/reinstall',
    params: SERVER_PARAMS,
    ability: 'game-servers.manage',
    write: true,
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    summary: 'Install a server again',
    description:
      'Its node stops it, gets the image and runs the install of its egg again: after a failed build, or to get what a new version installs. Files stay as far as the install keeps them. Until it is built it cannot be started; the build says how far it is.',
    responses: {
      ...refusals(COMMON, WITH_KEY, ['not_found']),
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
