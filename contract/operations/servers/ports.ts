import { Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  type ResponseRow,
  WITH_BODY,
  WITH_KEY,
} from '../../endpoint.ts';
import {
  ChangedServerPorts,
  ServerPortChange,
  ServerPortOrder,
  ServerPorts,
} from '../../schemas/server-ports.ts';
import { SERVER_PARAMS } from '../game-servers.ts';
import { ONCE_HEADERS, SERVERS, SERVERS_ONCE, SERVERS_READ } from './shared.ts';

const ONE = {
  ...SERVER_PARAMS,
  address: Type.String({ description: 'The address of the port.', examples: ['198.51.100.10'] }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Its number.' }),
} as const;

const ability = 'game-servers.settings';
const once = { ...SERVERS_ONCE, ability } as const;

const NEXT_START = 'A server that runs is given it at its next start.';
const DATA = {
  ports: [
    {
      ip: '198.51.100.10',
      port: 25_565,
      protocols: ['tcp', 'udp'],
      name: null,
      variable: null,
      primary: true,
      added: false,
    },
    {
      ip: '198.51.100.10',
      port: 25_570,
      protocols: ['udp'],
      name: 'voice',
      variable: null,
      primary: false,
      added: true,
    },
  ],
  limit: 4,
};
const CHANGED = {
  description: 'The ports as they are now.',
  schema: ChangedServerPorts,
  headers: ONCE_HEADERS,
  example: { data: DATA, message: NEXT_START },
} as const satisfies ResponseRow;

/** The ports of one server, of which its people add some from those that its node gives. */
export const SERVER_PORT_ENDPOINTS = [
  {
    ...SERVERS_READ,
    ability,
    operationId: 'listServerPorts',
    path: '/game-servers/{slice}/ports',
    params: SERVER_PARAMS,
    summary: 'List the ports of a server',
    description:
      'All of them, and how many there may be. A person needs the right `allocation.read`.',
    responses: readResponses(['not_found'], {
      description: 'The ports.',
      schema: ServerPorts,
      example: { data: DATA },
    }),
  },
  {
    ...once,
    operationId: 'addServerPort',
    method: 'POST',
    path: '/game-servers/{slice}/ports',
    params: SERVER_PARAMS,
    summary: 'Add a port to a server',
    description: `From those that its node gives, up to the limit that the operator set. The firewall lets it through while the server runs. ${NEXT_START} A person needs the right \`allocation.create\`.`,
    body: ServerPortOrder,
    bodyExamples: { voice: { name: 'voice', protocols: ['udp'] } },
    responses: {
      ...refusals(COMMON, WITH_BODY, WITH_KEY, [
        'not_found',
        'conflict',
        'limit_exceeded',
        'no_capacity',
      ]),
      201: CHANGED,
    },
  },
  {
    ...SERVERS,
    ability,
    operationId: 'setServerPort',
    method: 'PUT',
    path: '/game-servers/{slice}/ports/{address}/{port}',
    params: ONE,
    write: true,
    summary: 'Set the name and protocols of a port',
    description:
      'Of one that was added: what is left out has its default. A person needs the right `allocation.update`.',
    body: ServerPortChange,
    bodyExamples: { voice: { name: 'voice', protocols: ['udp'] } },
    responses: {
      ...refusals(COMMON, WITH_BODY, ['not_found', 'conflict']),
      200: { ...CHANGED, headers: RATE_HEADERS },
    },
  },
  {
    ...once,
    operationId: 'choosePrimaryPort',
    method: 'POST',
    path: '/game-servers/{slice}/ports/{address}/{port}/primary',
    params: ONE,
    summary: 'Make a port the first one',
    description: `Players are shown it, and the game is given it as SERVER_PORT. ${NEXT_START} A person needs the right \`allocation.update\`.`,
    responses: { ...refusals(COMMON, WITH_KEY, ['not_found']), 200: CHANGED },
  },
  {
    ...once,
    operationId: 'removeServerPort',
    method: 'DELETE',
    path: '/game-servers/{slice}/ports/{address}/{port}',
    params: ONE,
    summary: 'Remove a port from a server',
    description:
      'One that was added, and is not the first one. The firewall closes it at once. A person needs the right `allocation.delete`.',
    responses: { ...refusals(COMMON, WITH_KEY, ['not_found', 'conflict']), 200: CHANGED },
  },
] as const satisfies readonly Endpoint[];
