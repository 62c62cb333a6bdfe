import { COMMON, type Endpoint, NOT_MODIFIED, RATE_HEADERS, refusals } from '../endpoint.ts';
import { Console, ConsoleQuery, GameServerBuild } from '../schemas/x1-game-servers.ts';
import { SERVER_PARAMS } from './game-servers.ts';

const common = {
  tag: 'Game servers',
  flag: null,
  method: 'GET',
  params: SERVER_PARAMS,
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;
const HEADERS = [...RATE_HEADERS, 'ETag'] as const;

/** Operations on game servers beyond the public interface. */
export const X1_GAME_SERVER_ENDPOINTS = [
  {
    ...common,
    operationId: 'readGameServerBuild',
    path: '/game-servers/{slice}/build',
    ability: 'game-servers.read',
    summary: 'See how far a server is built',
    description:
      'Whether the node has built the server, and why not: the reason in words, and the last lines of an install that failed. Of a built one, what is amiss with it now.',
    responses: {
      ...refusals(COMMON, ['not_found']),
      200: {
        description: 'The build.',
        schema: GameServerBuild,
        headers: HEADERS,
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
          },
        },
      },
      304: NOT_MODIFIED,
    },
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
    responses: {
      ...refusals(COMMON, ['not_found']),
      200: {
        description: 'The lines.',
        schema: Console,
        headers: HEADERS,
        example: {
          data: {
            lines: ['[12:00:01] Done (2.1s)!', '[12:00:09] alex joined the game'],
            last_number: 1_795_262_410_123,
          },
        },
      },
      304: NOT_MODIFIED,
    },
  },
] as const satisfies readonly Endpoint[];
