import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../../endpoint.ts';
import { Done } from '../../schemas/portal-account.ts';
import {
  MadeServer,
  NewServer,
  OfferedEggs,
  PlacesRequest,
  ServerPlaces,
  ServerQuota,
} from '../../schemas/self-service.ts';
import { SERVER_PARAMS } from '../game-servers.ts';
import { ONCE_HEADERS, SERVERS, SERVERS_ONCE, SERVERS_READ } from './shared.ts';

const ability = 'game-servers.create';
const read = { ...SERVERS_READ, ability } as const;
const once = { ...SERVERS_ONCE, ability } as const;

const EGG = 'eggs/flying-squid.json';
const SIZE = { memory: 1_024, cpu: 100, disk: 2_048 };
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

/** Servers that owners of an organisation make within its quota. */
export const SELF_SERVICE_ENDPOINTS = [
  {
    ...read,
    operationId: 'readServerQuota',
    path: '/game-servers/quota',
    summary: 'Read the quota of own servers',
    description:
      'How many servers the organisation may make by itself, and what these may have together: memory, processor and disk. The operator sets it; all are 0 by default, and then none can be made. Servers that the operator made are not counted. Also the services to which a new server may belong.',
    responses: readResponses([], {
      description: 'The quota, and what is used of it.',
      schema: ServerQuota,
      example: {
        data: {
          limits: { servers: 3, memory: 8_192, cpu: 400, disk: 40_960 },
          used: { servers: 1, memory: 1_024, cpu: 100, disk: 2_048 },
          services: [{ id: 501, name: 'Games' }],
        },
      },
    }),
  },
  {
    ...read,
    operationId: 'listOfferedEggs',
    path: '/eggs',
    summary: 'List the games of which servers can be made',
    description:
      'The eggs of the library that the operator offers, with their icons, and the variables that can be given.',
    responses: readResponses([], { description: 'The eggs.', schema: OfferedEggs }),
  },
  {
    ...SERVERS,
    ability,
    operationId: 'findServerPlaces',
    method: 'POST',
    path: '/game-servers/places',
    write: false,
    summary: 'Find the nodes where a server fits',
    description:
      'Every node, with the reason where it does not fit: the node is away, cannot run the game, or has too little memory or disk or no port left. Nothing is reserved.',
    body: PlacesRequest,
    bodyExamples: { small: { egg: EGG, limits: SIZE } },
    responses: {
      ...refusals(COMMON, WITH_BODY),
      200: {
        description: 'The nodes.',
        schema: ServerPlaces,
        headers: RATE_HEADERS,
        example: {
          data: [
            { node: 'node-1', fits: true, reason: null },
            { node: 'node-2', fits: false, reason: 'It has too little memory left.' },
          ],
        },
      },
    },
  },
  {
    ...once,
    operationId: 'makeGameServer',
    method: 'POST',
    path: '/game-servers',
    summary: 'Make a game server',
    description:
      'Within the quota of the organisation. It gets an address and a port of its node, which are open in the firewall while it runs. Its node builds it; the build says how far it is. Variables that are left out have the defaults of the egg.',
    body: NewServer,
    bodyExamples: { small: { name: 'Survival', egg: EGG, limits: SIZE } },
    responses: {
      ...refusals(COMMON, WITH_BODY, WITH_KEY, ['limit_exceeded', 'no_capacity', 'conflict']),
      201: {
        description: 'Made. Its node builds it now.',
        schema: MadeServer,
        headers: ONCE_HEADERS,
        example: {
          data: {
            uuid: UUID,
            name: 'Survival',
            egg: EGG,
            node: 'node-1',
            service_id: 501,
            limits: SIZE,
            allocation: { ip: '198.51.100.10', port: 25_565 },
          },
          message: 'The server Survival is being built on node-1.',
        },
        links: {
          Build: {
            operationId: 'readGameServerBuild',
            description: 'Shows how far it is.',
            parameters: { slice: '$response.body#/data/uuid' },
          },
        },
      },
    },
  },
  {
    ...once,
    operationId: 'deleteGameServer',
    method: 'DELETE',
    path: '/game-servers/{slice}',
    params: SERVER_PARAMS,
    summary: 'Delete a game server',
    description:
      'One that the organisation made by itself: its node stops it for good. What the operator made, the operator deletes.',
    responses: {
      ...refusals(COMMON, WITH_KEY, ['not_found', 'conflict', 'managed_by_fleet_file']),
      200: {
        description: 'Deleted.',
        schema: Done,
        headers: ONCE_HEADERS,
      },
    },
  },
] as const satisfies readonly Endpoint[];
