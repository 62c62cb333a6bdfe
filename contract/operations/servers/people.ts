import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../../endpoint.ts';
import { Done, NewLink } from '../../schemas/portal-account.ts';
import {
  ServerActivity,
  ServerActivityQuery,
  ServerInvitation,
  ServerPeople,
  ServerRightsChange,
} from '../../schemas/server-people.ts';
import { id } from '../../schemas/values.ts';
import { SftpPlace } from '../../schemas/x1-sftp.ts';
import { SERVER_PARAMS } from '../game-servers.ts';
import { ONCE_HEADERS, SERVERS, SERVERS_ONCE, SERVERS_READ } from './shared.ts';

const PERSON = {
  ...SERVER_PARAMS,
  person: id({ description: 'Id of a person.', examples: [17] }),
} as const;

const ability = 'game-servers.settings';
const read = { ...SERVERS_READ, ability, params: SERVER_PARAMS } as const;
const once = { ...SERVERS_ONCE, ability } as const;

const OWN = 'Nobody gives a right that he lacks himself.';
const DONE = {
  description: 'Done.',
  schema: Done,
  headers: ONCE_HEADERS,
} as const;
const RIGHTS = ['websocket.connect', 'control.console', 'control.restart'];
const READ_PEOPLE = {
  description: 'Who has rights to the server.',
  operationId: 'listServerPeople',
  parameters: { slice: '$request.path.slice' },
} as const;

/** The people of one server, how they connect to its files, and what was done with it. */
export const SERVER_PEOPLE_ENDPOINTS = [
  {
    ...read,
    operationId: 'listServerPeople',
    path: '/game-servers/{slice}/people',
    summary: 'List the people of a server',
    description:
      'Who has rights to this server alone, open invitations, and every right with what it lets do. Members of the organisation have rights to each of its servers by their role. A person needs the right `user.read`.',
    responses: readResponses(['not_found'], {
      description: 'The people.',
      schema: ServerPeople,
      example: {
        data: {
          people: [
            {
              id: 17,
              email: 'friend@example.net',
              name: 'Friend',
              rights: RIGHTS,
              since: '2026-11-21T02:00:00+00:00',
            },
          ],
          invitations: [],
          rights: [
            {
              group: 'Console and power',
              right: 'control.restart',
              description: 'Restart the server.',
              own: true,
            },
          ],
        },
      },
    }),
  },
  {
    ...once,
    operationId: 'inviteToServer',
    method: 'POST',
    path: '/game-servers/{slice}/people',
    params: SERVER_PARAMS,
    summary: 'Invite a person to a server',
    description: `Makes a link that is valid for seven days, and as long as its maker could make it. The person need not belong to the organisation, and sees nothing else of it. ${OWN} A person needs the right \`user.create\`.`,
    body: ServerInvitation,
    bodyExamples: { friend: { email: 'friend@example.net', rights: RIGHTS } },
    responses: {
      ...refusals(COMMON, WITH_BODY, WITH_KEY, ['not_found']),
      201: {
        description: 'The link.',
        schema: NewLink,
        headers: ONCE_HEADERS,
        links: { People: READ_PEOPLE },
      },
    },
  },
  {
    ...SERVERS,
    ability,
    operationId: 'setServerRights',
    method: 'PUT',
    path: '/game-servers/{slice}/people/{person}',
    params: PERSON,
    write: true,
    summary: 'Set the rights of a person to a server',
    description: `The whole list: what is left out is taken away, and open consoles and sessions end within a second. ${OWN} A person needs the right \`user.update\`.`,
    body: ServerRightsChange,
    bodyExamples: { console: { rights: RIGHTS } },
    responses: {
      ...refusals(COMMON, WITH_BODY, ['not_found']),
      200: {
        description: 'Done.',
        schema: Done,
        headers: RATE_HEADERS,
        links: { People: READ_PEOPLE },
      },
    },
  },
  {
    ...once,
    operationId: 'removeFromServer',
    method: 'DELETE',
    path: '/game-servers/{slice}/people/{person}',
    params: PERSON,
    summary: 'Remove a person from a server',
    description:
      'Its rights to this server end, and open consoles and sessions with them within a second. What it has by a role of the organisation stays. A person needs the right `user.delete`.',
    responses: { ...refusals(COMMON, WITH_KEY, ['not_found']), 200: DONE },
  },
  {
    ...once,
    operationId: 'withdrawServerInvitation',
    method: 'DELETE',
    path: '/game-servers/{slice}/invitations/{invitation}',
    params: {
      ...SERVER_PARAMS,
      invitation: id({ description: 'Id of an invitation.', examples: [4] }),
    },
    summary: 'Withdraw an invitation to a server',
    description: 'Its link stops working. A person needs the right `user.delete`.',
    responses: { ...refusals(COMMON, WITH_KEY, ['not_found']), 200: DONE },
  },
  {
    ...read,
    operationId: 'listServerActivity',
    path: '/game-servers/{slice}/activity',
    query: ServerActivityQuery,
    summary: 'Read what was done with a server',
    description:
      'Who did what, when, from where and through which door. A person needs the right `activity.read`.',
    responses: readResponses(['not_found'], {
      description: 'The entries.',
      schema: ServerActivity,
      example: {
        data: [
          {
            id: 99,
            at: '2026-11-21T02:00:00+00:00',
            actor_kind: 'user',
            actor: 'friend@example.net',
            door: 'portal',
            source: '192.0.2.7',
            action: 'power',
            detail: { signal: 'restart' },
            times: 1,
          },
        ],
        meta: { next: null },
      },
    }),
  },
  {
    ...read,
    ability: 'game-servers.files',
    operationId: 'readServerSftp',
    path: '/game-servers/{slice}/sftp',
    summary: 'Read how to connect by SFTP',
    description:
      'The place, the user and the key of the host. A person connects with an SSH key or an SFTP password of its account. A person needs the right `file.sftp`.',
    responses: readResponses(['not_found'], {
      description: 'As the node last reported.',
      schema: SftpPlace,
      example: {
        data: {
          host: '198.51.100.10',
          port: 2_022,
          fingerprint: 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU',
          server: '6f1c2f1e',
          user: 'ada@example.net.6f1c2f1e',
          url: 'sftp://ada%40example.net.6f1c2f1e@198.51.100.10:2022',
        },
      },
    }),
  },
] as const satisfies readonly Endpoint[];
