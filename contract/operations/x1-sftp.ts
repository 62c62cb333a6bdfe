import { type Endpoint, readResponses } from '../endpoint.ts';
import { SftpPlace } from '../schemas/x1-sftp.ts';
import { SERVER_PARAMS } from './game-servers.ts';

/** SFTP to the files of a game server. */
export const X1_SFTP_ENDPOINTS = [
  {
    operationId: 'readServerSftp',
    method: 'GET',
    path: '/game-servers/{slice}/sftp',
    params: SERVER_PARAMS,
    ability: 'game-servers.files',
    tag: 'Game servers',
    flag: null,
    write: false,
    requestHeaders: ['If-None-Match'],
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
