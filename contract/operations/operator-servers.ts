import { Type } from 'typebox';
import { type OperatorEndpoint, WITH_BODY } from '../endpoint.ts';
import {
  Eggs,
  EggSourceInput,
  HostImages,
  OperatedServers,
  ReadEgg,
  ServerChange,
  ServerEgg,
  ServerInput,
  ServerQuery,
} from '../schemas/operator-servers.ts';
import { Done } from '../schemas/portal-account.ts';
import {
  create,
  createAnswer,
  doneAnswer,
  read,
  readAnswer,
  remove,
  save,
  saveAnswer,
} from './operator-shared.ts';

const ONE = '/game-servers/{slice}';
const SLICE = { slice: Type.String({ description: 'The uuid of a server.' }) };
const now = 'The server as it is now.';
const SERVER = {
  organisation: 'acme',
  service_id: 501,
  external_id: 'whmcs-4711',
  name: 'Survival',
  egg: 'eggs/flying-squid.json',
  limits: { memory: 1_024, cpu: 100, disk: 2_048 },
};

/** Game servers of any organisation. What the fleet file owns is changed there. */
export const OPERATOR_SERVER_ENDPOINTS = [
  {
    ...read,
    operationId: 'listEggs',
    path: '/eggs',
    summary: 'List the eggs of the library',
    description: 'With their variables, and the nodes that can run them now.',
    responses: readAnswer('The eggs.', Eggs),
  },
  {
    ...create,
    write: 'instructs',
    operationId: 'readEgg',
    path: '/eggs/read',
    summary: 'Read an egg of your own',
    description:
      'From a URL or a file, as it would be used: what it is, its variables, and the document that `createServer` takes. Nothing is stored.',
    body: EggSourceInput,
    bodyExamples: { url: { url: 'https://eggs.example.net/paper.json' } },
    responses: doneAnswer('The egg.', ReadEgg, WITH_BODY),
  },
  {
    ...read,
    operationId: 'listImages',
    path: '/images',
    summary: 'List the images that nodes make',
    description:
      'Those of the shipped eggs, on each node, with the progress of what is being made.',
    responses: readAnswer('The images.', HostImages),
  },
  {
    ...create,
    write: 'instructs',
    operationId: 'makeImage',
    path: '/nodes/{name}/images/{image}',
    params: {
      name: Type.String({ description: 'Its name.' }),
      image: Type.String({ description: 'The name of an image (`listImages`).' }),
    },
    summary: 'Make an image on a node',
    description:
      'Of packages of Debian and npm, in a minute or so. The answer comes at once; `listImages` has the progress. One that is being made goes on.',
    responses: doneAnswer('It is being made.', HostImages),
  },
  {
    ...read,
    operationId: 'listOperatedServers',
    path: '/game-servers',
    query: ServerQuery,
    summary: 'List game servers',
    description: 'Of every organisation, by uuid; with `external_id` the one of a billing system.',
    responses: readAnswer('The servers.', OperatedServers),
  },
  {
    ...create,
    operationId: 'createServer',
    path: '/game-servers',
    summary: 'Create a game server',
    description:
      'Its node builds it from its egg. A refusal names each node and what it lacks. With the `external_id` of a server that is equal, nothing is made and that one is answered.',
    body: ServerInput,
    bodyExamples: { placed: SERVER, 'on a node': { ...SERVER, node: 'node-1' } },
    responses: createAnswer(now, OperatedServers, ['no_capacity']),
  },
  {
    ...read,
    operationId: 'readOperatedServer',
    path: ONE,
    params: SLICE,
    summary: 'Read a game server',
    description: 'As the list has it.',
    responses: readAnswer('The server.', OperatedServers),
  },
  {
    ...read,
    operationId: 'readServerEgg',
    path: `${ONE}/egg`,
    params: SLICE,
    summary: 'Read the egg of a game server',
    description:
      'The one that it was made from, with its variables, which may have left the library since.',
    responses: readAnswer('The egg.', ServerEgg),
  },
  {
    ...save,
    operationId: 'changeServer',
    path: ONE,
    params: SLICE,
    summary: 'Change a game server',
    description:
      'What is left out stays as it is. A server that runs takes limits and ports at its next start.',
    body: ServerChange,
    bodyExamples: { upgrade: { limits: { memory: 2_048, cpu: 200, disk: 4_096 } } },
    responses: saveAnswer(now, OperatedServers, ['live_objects', 'no_capacity']),
  },
  {
    ...remove,
    operationId: 'deleteServer',
    path: ONE,
    params: SLICE,
    summary: 'Delete a game server',
    description: 'Its node stops it for good and keeps its files until they are purged there.',
    responses: doneAnswer('Deleted.', Done),
  },
  {
    ...create,
    operationId: 'suspendServer',
    path: `${ONE}/suspend`,
    params: SLICE,
    summary: 'Suspend a game server',
    description: 'It is stopped and cannot be started. One that is suspended stays so.',
    responses: doneAnswer(now, OperatedServers),
  },
  {
    ...create,
    operationId: 'unsuspendServer',
    path: `${ONE}/unsuspend`,
    params: SLICE,
    summary: 'Unsuspend a game server',
    description: 'It can be started again. One that is not suspended stays so.',
    responses: doneAnswer(now, OperatedServers),
  },
  {
    ...create,
    operationId: 'reinstallServer',
    path: `${ONE}/reinstall`,
    params: SLICE,
    summary: 'Install a game server anew',
    description: "By its egg's installation, which decides what stays of its files.",
    responses: doneAnswer(now, OperatedServers),
  },
] as const satisfies readonly OperatorEndpoint[];
