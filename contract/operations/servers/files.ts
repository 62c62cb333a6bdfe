import { type TSchema, Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../../endpoint.ts';
import type { ProblemCode } from '../../problems.ts';
import * as schemas from '../../schemas/x1-files.ts';
import { SERVER_PARAMS } from '../game-servers.ts';

const common = { tag: 'Game servers', flag: null, params: SERVER_PARAMS } as const;
const read = {
  ...common,
  method: 'GET',
  ability: 'game-servers.files',
  write: false,
  waits: true,
  requestHeaders: ['If-None-Match'],
} as const;
const change = {
  ...common,
  ability: 'game-servers.files',
  write: 'instructs',
  requestHeaders: ['Idempotency-Key'],
  idempotent: true,
} as const;
const post = { ...change, method: 'POST' } as const;
const remove = { ...change, method: 'DELETE' } as const;

/** Refusals of the node. */
const REFUSED = [
  'not_found',
  'conflict',
  'limit_exceeded',
] as const satisfies readonly ProblemCode[];

const SOME_TIME = 'Waits for the node, 5 s at most.';

function reads(schema: TSchema, example: unknown, description = 'From the node.') {
  return readResponses(REFUSED, { description, schema, example });
}

function changes(schema: TSchema, example: unknown, problems: readonly ProblemCode[] = WITH_BODY) {
  return {
    ...refusals(COMMON, REFUSED, WITH_KEY, problems),
    200: {
      description: 'Done by the node, or begun where the answer is a job.',
      schema,
      headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
      example,
    },
  } as const;
}

/** The answer to who makes a link. It is a secret, so no answer is kept for a repeated request. */
const LINKED = {
  description: 'Made by the node.',
  schema: schemas.FileLink,
  headers: RATE_HEADERS,
  example: {
    data: {
      url: 'https://files.node1.example/files/0000000000000000000000000000000000000000000',
      expires_at: '2026-11-21T02:05:00+00:00',
    },
  },
} as const;

/** The media type of any file, which no browser shows. */
const BYTES = 'application/octet-stream';
const AT = '2026-11-21T02:00:00+00:00';
const JOB = {
  id: '0d3c0a7e-6f0e-4a35-9d5b-1f7e1f0c9b52',
  kind: 'copy',
  path: 'world',
  state: 'running',
  started_at: AT,
  bytes: 1_048_576,
  total_bytes: null,
  entries: 12,
  notes: [],
} as const;
const DONE = { data: { done: ['plugins/map.jar'], failed: [] } } as const;
const BINNED = 'mhzk3q1c-2-3f0a1b2c4d5e6f70';

/** Operations on the files of a game server. */
export const X1_FILE_ENDPOINTS = [
  {
    ...read,
    operationId: 'listFiles',
    path: '/game-servers/{slice}/files',
    summary: 'List a folder of a server',
    description: `A page of a folder, live from the node. Links are shown and never followed. ${SOME_TIME}`,
    query: schemas.FileListQuery,
    responses: reads(schemas.FileList, {
      data: [
        {
          name: 'map.jar',
          path: 'plugins/map.jar',
          type: 'file',
          size: 20_480,
          modified_at: AT,
          mode: '644',
          denied: false,
          content: null,
        },
      ],
      meta: { current_page: 1, per_page: 200, total: 1, complete: true },
    }),
  },
  {
    ...remove,
    operationId: 'deleteFiles',
    path: '/game-servers/{slice}/files',
    summary: 'Delete files and folders',
    description:
      'Moves them to the bin of the server, from where they can be restored for seven days. The bin counts as disk of the server.',
    body: schemas.DeleteFilesRequest,
    bodyExamples: { plugin: { paths: ['plugins/map.jar'] } },
    responses: changes(schemas.FilesChanged, DONE),
  },
  {
    ...read,
    operationId: 'readFile',
    path: '/game-servers/{slice}/files/content',
    summary: 'Read a file',
    sendsBytes: true,
    requestHeaders: ['If-None-Match', 'Range'],
    description: `As JSON, a file of at most 4 MiB; with \`raw=true\` or a \`Range\`, the bytes of a file of any size as they come from the node. Its \`ETag\` is what a write takes as \`If-Match\`. ${SOME_TIME}`,
    query: schemas.ContentQuery,
    responses: {
      ...readResponses([...REFUSED, 'range_not_satisfiable'], {
        description: 'The file.',
        schema: schemas.FileContent,
        bytes: [BYTES],
        headers: [...RATE_HEADERS, 'ETag', 'Accept-Ranges?', 'Content-Disposition?'],
        example: {
          data: {
            path: 'server.properties',
            encoding: 'utf-8',
            content: 'motd=Hello\n',
            size: 11,
            modified_at: AT,
            mode: '644',
          },
        },
      }),
      206: {
        description: 'The part of the file that `Range` names.',
        bytes: [BYTES],
        headers: [...RATE_HEADERS, 'ETag', 'Accept-Ranges', 'Content-Range', 'Content-Disposition'],
      },
    },
  },
  {
    ...common,
    operationId: 'writeFile',
    method: 'PUT',
    path: '/game-servers/{slice}/files/content',
    ability: 'game-servers.files',
    write: 'instructs',
    bodyBytes: schemas.MAX_CONTENT_BODY,
    requestHeaders: ['If-Match', 'If-None-Match'],
    summary: 'Write a file',
    description:
      'Replaces a file of at most 4 MiB whole, or creates it with the folders on the way. A reader sees the old content or the new one, also when the node is killed meanwhile. With `If-Match` nothing happens (412) when the file has changed since it was read, and with `If-None-Match: *` when there is one; what the game writes in the very moment of the replacement is lost.',
    query: schemas.FileQuery,
    body: schemas.FileWrite,
    bodyExamples: { properties: { content: 'motd=Hello\n' } },
    responses: {
      ...refusals(COMMON, REFUSED, WITH_BODY, ['precondition_failed']),
      200: {
        description: 'Written, and on the disk.',
        schema: schemas.FileWritten,
        headers: RATE_HEADERS,
        example: { data: { path: 'server.properties', size: 11, created: false } },
      },
    },
  },
  {
    ...read,
    operationId: 'readUpload',
    path: '/game-servers/{slice}/files/upload',
    summary: 'Look how far an upload is',
    description: `How many bytes of a file the node has, from where the upload goes on. ${SOME_TIME}`,
    query: schemas.FileQuery,
    responses: reads(schemas.FileUpload, {
      data: { path: 'plugins/map.jar', received: 4_096, size: 20_480, done: false },
    }),
  },
  {
    ...common,
    operationId: 'uploadFile',
    method: 'PUT',
    path: '/game-servers/{slice}/files/upload',
    ability: 'game-servers.files',
    write: 'instructs',
    takesBytes: true,
    requestHeaders: ['If-Match', 'If-None-Match'],
    summary: 'Upload a file, or go on with it',
    description:
      'The body is the bytes of the file from `offset` on, all of them or a part, and goes to the node as it comes. What arrived stays there for 24 hours, also when the connection breaks, and counts as disk of the server; another request goes on from there. Offset 0 begins anew. The file appears under its name, whole and on the disk, when its last byte was received; with `If-Match` only if the file there has not changed meanwhile, with `If-None-Match: *` only if there is none (412).',
    query: schemas.UploadQuery,
    responses: {
      ...refusals(COMMON, REFUSED, ['precondition_failed']),
      200: {
        description: 'Received.',
        schema: schemas.FileUpload,
        headers: RATE_HEADERS,
        example: {
          data: { path: 'plugins/map.jar', received: 20_480, size: 20_480, done: true },
        },
      },
    },
  },
  {
    ...remove,
    operationId: 'abortUpload',
    path: '/game-servers/{slice}/files/upload',
    summary: 'Abort an upload',
    description: 'What was received is removed. No effect without an upload of this file.',
    query: schemas.FileQuery,
    responses: changes(schemas.FilesChanged, DONE, []),
  },
  {
    ...read,
    operationId: 'downloadFiles',
    path: '/game-servers/{slice}/files/download',
    sendsBytes: true,
    requestHeaders: [],
    summary: 'Download files and folders as an archive',
    description:
      'Packed by the node as it is sent, and kept nowhere. Only regular files and folders get into it; what else there is, and what the egg denies, is left out. A download that breaks off is not whole: begin it again.',
    query: schemas.DownloadQuery,
    responses: {
      ...refusals(COMMON, REFUSED),
      200: {
        description: 'The archive.',
        bytes: ['application/zip', 'application/gzip', 'application/zstd'],
        headers: [...RATE_HEADERS, 'Content-Disposition'],
      },
    },
  },
  {
    ...post,
    requestHeaders: [],
    idempotent: false,
    operationId: 'makeFileLink',
    path: '/game-servers/{slice}/files/links',
    summary: 'Make a link for one download',
    description:
      'A link to the node itself, which answers one `GET`, of a file also with `Range` and `If-Range`; refused where the node serves no links. With a format an archive, without it one file. Good once, for 5 minutes, and only as long as the caller may read the files.',
    body: schemas.FileLinkRequest,
    bodyExamples: { world: { paths: ['world'], format: 'zip' } },
    responses: { ...refusals(COMMON, REFUSED, WITH_BODY), 200: LINKED },
  },
  {
    ...post,
    requestHeaders: ['If-Match', 'If-None-Match'],
    idempotent: false,
    operationId: 'makeUploadLink',
    path: '/game-servers/{slice}/files/upload/links',
    summary: 'Make a link for one upload',
    description:
      'A link to the node itself, which takes one `PUT` of the bytes of the file from `offset` on, as the upload by control does, and answers the same; refused where the node serves no links. Good once, for 5 minutes, and only as long as the caller may write the file. An upload that breaks off goes on by another link.',
    body: schemas.UploadLinkRequest,
    bodyExamples: { map: { path: 'plugins/map.jar', offset: 0, size: 20_480 } },
    responses: {
      ...refusals(COMMON, REFUSED, WITH_BODY, ['precondition_failed']),
      200: LINKED,
    },
  },
  {
    ...post,
    operationId: 'makeFolder',
    path: '/game-servers/{slice}/files/folders',
    summary: 'Make a folder',
    description: 'With the folders on the way to it.',
    body: schemas.FolderRequest,
    bodyExamples: { maps: { path: 'plugins/maps' } },
    responses: changes(schemas.FilesChanged, { data: { done: ['plugins/maps'], failed: [] } }),
  },
  {
    ...post,
    operationId: 'moveFiles',
    path: '/game-servers/{slice}/files/move',
    summary: 'Move and rename files and folders',
    description:
      'One after the other. Nothing is overwritten: a path where something is already is refused, unless `replace` sends what is there to the bin.',
    body: schemas.MoveRequest,
    bodyExamples: { rename: { moves: [{ from: 'plugins/map.jar', to: 'old/map.jar' }] } },
    responses: changes(schemas.FilesChanged, DONE),
  },
  {
    ...post,
    operationId: 'copyFile',
    path: '/game-servers/{slice}/files/copy',
    summary: 'Copy a file or folder',
    description:
      'As a job: the answer is the job as it stands after 4 s at most. Links, devices and files of others are left out, and the job says so.',
    body: schemas.CopyRequest,
    bodyExamples: { world: { from: 'world', to: 'backups/world' } },
    responses: changes(schemas.FileJobAnswer, { data: JOB }),
  },
  {
    ...post,
    operationId: 'archiveFiles',
    path: '/game-servers/{slice}/files/archive',
    summary: 'Make an archive of files and folders',
    description:
      'As a job, like a copy. Only regular files and folders get into an archive; what else there is, and what the egg denies, is left out, and the job says so.',
    body: schemas.ArchiveRequest,
    bodyExamples: {
      world: { paths: ['world'], to: 'backups/world.tar.zst', format: 'tar.zst' },
    },
    responses: changes(schemas.FileJobAnswer, { data: { ...JOB, kind: 'archive' } }),
  },
  {
    ...post,
    operationId: 'unpackFile',
    path: '/game-servers/{slice}/files/unpack',
    summary: 'Unpack an archive',
    description:
      'As a job. Each file gets its name when it is whole, and replaces a file of that name. Links, devices and set-user-id bits never leave an archive; a name that leads out of the folder, a bomb, or a full quota ends the job.',
    body: schemas.UnpackRequest,
    bodyExamples: { plugins: { path: 'plugins.zip', to: 'plugins' } },
    responses: changes(schemas.FileJobAnswer, { data: { ...JOB, kind: 'unpack' } }),
  },
  {
    ...post,
    operationId: 'pullFile',
    path: '/game-servers/{slice}/files/pull',
    summary: 'Pull a file from a URL',
    description:
      'As a job, like a copy: the node of the server fetches the URL. The file gets its name when it is whole. The quota of the server bounds it, and a minute in which nothing arrives ends it.',
    body: schemas.PullRequest,
    bodyExamples: {
      plugin: { url: 'https://example.net/releases/map.jar', path: 'plugins/map.jar' },
    },
    responses: changes(schemas.FileJobAnswer, {
      data: { ...JOB, kind: 'pull', path: 'plugins/map.jar', total_bytes: 4_194_304, entries: 0 },
    }),
  },
  {
    ...post,
    operationId: 'setFileModes',
    path: '/game-servers/{slice}/files/mode',
    summary: 'Set permissions of files and folders',
    description: 'Of files and folders themselves, of links never.',
    body: schemas.ModeRequest,
    bodyExamples: { script: { files: [{ path: 'start.sh', mode: '755' }] } },
    responses: changes(schemas.FilesChanged, { data: { done: ['start.sh'], failed: [] } }),
  },
  {
    ...read,
    operationId: 'searchFiles',
    path: '/game-servers/{slice}/files/search',
    summary: 'Search files by name or text',
    description: `Below a folder, until the limit or some seconds have passed. What the egg denies is left out. ${SOME_TIME}`,
    query: schemas.FileSearchQuery,
    responses: reads(schemas.FilesFound, {
      data: [{ path: 'server.properties', type: 'file', size: 11, line: 1, text: 'motd=Hello' }],
      meta: { complete: true },
    }),
  },
  {
    ...read,
    operationId: 'measureFiles',
    path: '/game-servers/{slice}/files/usage',
    summary: 'Measure the disk use of a folder',
    description: `By what is in it. ${SOME_TIME}`,
    query: schemas.DiskUseQuery,
    responses: reads(schemas.FilesMeasured, {
      data: {
        bytes: 73_400_320,
        entries: 212,
        complete: true,
        children: [
          { name: 'world', type: 'folder', bytes: 73_396_224, entries: 211, complete: true },
        ],
      },
    }),
  },
  {
    ...read,
    operationId: 'listDeletedFiles',
    path: '/game-servers/{slice}/files/bin',
    summary: 'List deleted files',
    description: 'What was deleted in the last seven days and not for good: the newest thousand.',
    responses: reads(schemas.DeletedFiles, {
      data: [{ id: BINNED, path: 'world/region', type: 'folder', size: 0, deleted_at: AT }],
      meta: { days: 7 },
    }),
  },
  {
    ...post,
    operationId: 'restoreFiles',
    path: '/game-servers/{slice}/files/bin/restore',
    summary: 'Restore deleted files',
    description: 'Moves them back to where they were, unless something is there.',
    body: schemas.RestoreRequest,
    bodyExamples: { one: { ids: [BINNED] } },
    responses: changes(schemas.FilesChanged, { data: { done: [BINNED], failed: [] } }),
  },
  {
    ...remove,
    operationId: 'emptyBin',
    path: '/game-servers/{slice}/files/bin',
    summary: 'Remove deleted files for good',
    description:
      'Those named, or with an empty object all of them. The disk is free a moment later.',
    body: schemas.EmptyBinRequest,
    bodyExamples: { all: {} },
    responses: changes(schemas.FilesChanged, { data: { done: [BINNED], failed: [] } }),
  },
  {
    ...read,
    operationId: 'listFileJobs',
    path: '/game-servers/{slice}/files/jobs',
    summary: 'List long operations on files',
    description:
      'Jobs that run, and those that ended lately. One that waits for its turn on the node says so in a note. A node that is restarted forgets them.',
    responses: reads(schemas.FileJobs, { data: [JOB] }),
  },
  {
    ...remove,
    operationId: 'cancelFileJob',
    path: '/game-servers/{slice}/files/jobs/{job}',
    params: {
      ...SERVER_PARAMS,
      job: Type.String({ description: 'The id of a job.', examples: [JOB.id] }),
    },
    summary: 'Cancel a long operation on files',
    description:
      'What it made so far is removed. No effect on a job that has ended. One that does not end at once is still `running` in the answer.',
    responses: changes(schemas.FileJobAnswer, { data: { ...JOB, state: 'cancelled' } }, []),
  },
] as const satisfies readonly Endpoint[];
