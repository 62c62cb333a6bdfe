import { Type } from 'typebox';
import { type OperatorEndpoint, WITH_BODY } from '../endpoint.ts';
import {
  DeletedServers,
  Eggs,
  EggSourceInput,
  HostImages,
  WrittenServer,
  ReadEgg,
  ServerEgg,
  ServerInput,
} from '../schemas/operator-servers.ts';
import { ReinstallQuery } from '../schemas/server-settings.ts';
import { create, createAnswer, doneAnswer, read, readAnswer } from './operator-shared.ts';

const ONE = '/game-servers/{uuid}';
const UUID = { uuid: Type.String({ description: 'Its uuid.' }) };
const now = 'The server as it is now.';
const SERVER = {
  organisation: 'acme',
  service: 501,
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
    ...create,
    operationId: 'createServer',
    path: '/game-servers',
    summary: 'Create a game server',
    description:
      'Its node builds it from its egg. A refusal names each node and what it lacks. With the `external_id` of a server that is equal, nothing is made and that one is answered.',
    body: ServerInput,
    bodyExamples: { placed: SERVER, 'on a node': { ...SERVER, node: 'node-1' } },
    responses: createAnswer(now, WrittenServer, ['no_capacity']),
  },
  {
    ...read,
    operationId: 'readServerEgg',
    path: `${ONE}/egg`,
    params: UUID,
    summary: 'Read the egg of a game server',
    description:
      'The one that it was made from, with its variables, which may have left the library since.',
    responses: readAnswer('The egg.', ServerEgg),
  },
  {
    ...create,
    operationId: 'suspendServer',
    path: `${ONE}/suspend`,
    params: UUID,
    summary: 'Suspend a game server',
    description: 'It is stopped and cannot be started. One that is suspended stays so.',
    responses: doneAnswer(now, WrittenServer),
  },
  {
    ...create,
    operationId: 'unsuspendServer',
    path: `${ONE}/unsuspend`,
    params: UUID,
    summary: 'Unsuspend a game server',
    description: 'It can be started again. One that is not suspended stays so.',
    responses: doneAnswer(now, WrittenServer),
  },
  {
    ...create,
    operationId: 'reinstallServer',
    path: `${ONE}/reinstall`,
    params: UUID,
    query: ReinstallQuery,
    summary: 'Install a game server anew',
    description:
      "By its egg's installation, which decides what stays of its files, unless `files` says otherwise.",
    responses: doneAnswer(now, WrittenServer),
  },
  {
    ...read,
    operationId: 'listDeletedServers',
    path: '/deleted-servers',
    summary: 'List deleted servers whose files are still there',
    description:
      'A node keeps the files of a server that is deleted, or that moved to another node, for its `keep_days`.',
    responses: readAnswer('The deleted servers.', DeletedServers),
  },
  {
    ...create,
    operationId: 'restoreServer',
    path: '/deleted-servers/{uuid}/restore',
    params: UUID,
    summary: 'Restore a deleted server',
    description:
      'With its files, its settings and its ports, as long as nobody else has those, its people and its activity. It is not installed again, and is not started. Ports that its people added are not restored. One whose time is over, or that lives on another node, is refused.',
    responses: doneAnswer(now, WrittenServer, ['no_capacity']),
  },
  {
    ...create,
    operationId: 'purgeServer',
    path: '/deleted-servers/{uuid}/purge',
    params: UUID,
    summary: 'Purge the files of a deleted server now',
    description: 'For good. A node that is away purges them when it is back.',
    responses: doneAnswer('The deleted servers.', DeletedServers),
  },
] as const satisfies readonly OperatorEndpoint[];
