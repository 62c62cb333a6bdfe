import { parseHttpUrl } from '@portcullis/core/net/public-url.ts';
import { MAX_CONTENT_BYTES } from '@portcullis/contract/schemas/x1-files.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { NodeCalls } from '../nodes/calls.ts';
import { changeFiles, makeLink, readFiles } from './ask.ts';
import { expectedOf, IN_QUERY, pathOf } from './input.ts';
import { receiveFile } from './receive.ts';
import { sendArchive, sendFile } from './send.ts';
import type { FileStreams } from './streams.ts';
import {
  changedView,
  contentView,
  deletedView,
  entryView,
  jobView,
  linkView,
  uploadView,
} from './views.ts';

/** The x1 operations on the files of a game server. */
export type FileHandlers = Pick<
  Handlers,
  | 'listFiles'
  | 'readFile'
  | 'writeFile'
  | 'makeFileLink'
  | 'makeUploadLink'
  | 'makeFolder'
  | 'moveFiles'
  | 'copyFile'
  | 'archiveFiles'
  | 'unpackFile'
  | 'pullFile'
  | 'deleteFiles'
  | 'setFileModes'
  | 'searchFiles'
  | 'measureFiles'
  | 'listDeletedFiles'
  | 'restoreFiles'
  | 'emptyBin'
  | 'listFileJobs'
  | 'cancelFileJob'
  | 'readUpload'
  | 'uploadFile'
  | 'abortUpload'
  | 'downloadFiles'
>;

const DEFAULT_PAGE = 200;
const DEFAULT_FOUND = 100;

export function createFileHandlers(calls: NodeCalls, streams: FileStreams): FileHandlers {
  return {
    ...createReads(calls),
    ...createContent(calls, streams),
    ...createUploads(calls, streams),
    ...createLinks(calls),
    ...createChanges(calls),
    ...createJobs(calls),
    ...createBeginnings(calls),
    ...createBin(calls),
  };
}

function createReads(calls: NodeCalls) {
  return {
    async listFiles(call, db) {
      const { query } = call;
      const { page = 1, per_page: perPage = DEFAULT_PAGE, sort = 'name', content = false } = query;
      const answer = await readFiles(calls, db, call, 'entries', () => ({
        kind: 'list',
        path: folderOf(query),
        sort,
        descending: query.order === 'descending',
        offset: (page - 1) * perPage,
        limit: perPage,
        withContent: content,
      }));
      const { total, complete, entries } = answer;
      const meta = { current_page: page, per_page: perPage, total, complete };
      const data = entries.map((one) => entryView(folderOf(query), one));
      return { status: 200, body: { data, meta } };
    },
    async searchFiles(call, db) {
      const { name = null, text = null, limit = DEFAULT_FOUND } = call.query;
      const { found, complete } = await readFiles(calls, db, call, 'found', () => {
        if (name === null && text === null)
          throw invalidValue('The search', { parameter: 'name' }, 'needs a name or a text');
        return { kind: 'search', path: folderOf(call.query), name, text, limit };
      });
      return { status: 200, body: { data: found, meta: { complete } } };
    },
    async measureFiles(call, db) {
      const answer = await readFiles(calls, db, call, 'measured', () => ({
        kind: 'measure',
        path: folderOf(call.query),
      }));
      const { bytes, entries, complete, children } = answer;
      return { status: 200, body: { data: { bytes, entries, complete, children } } };
    },
  } satisfies Partial<FileHandlers>;
}

function createContent(calls: NodeCalls, streams: FileStreams) {
  return {
    async readFile(call, db) {
      if (call.query.raw === true || call.range !== null)
        return sendFile({ calls, streams, db }, call);
      const pathOfFile = () => pathOf(call.query.path, IN_QUERY);
      const answer = await readFiles(calls, db, call, 'content', () => ({
        kind: 'read',
        path: pathOfFile(),
      }));
      const data = contentView(pathOfFile(), answer);
      return { status: 200, body: { data }, state: answer.tag };
    },
    async writeFile(call, db) {
      const path = () => pathOf(call.query.path, IN_QUERY);
      const expected = await expectedOf(calls, db, call, path);
      const { size, created } = await changeFiles(calls, db, call, 'written', () => ({
        kind: 'write',
        path: path(),
        content: bytesOf(call.body).toString('base64'),
        mode: call.body.mode === undefined ? null : Number.parseInt(call.body.mode, 8),
        expected,
      }));
      return { status: 200, body: { data: { path: path(), size, created } } };
    },
  } satisfies Partial<FileHandlers>;
}

function createUploads(calls: NodeCalls, streams: FileStreams) {
  return {
    async readUpload(call, db) {
      const path = () => pathOf(call.query.path, IN_QUERY);
      const answer = await readFiles(calls, db, call, 'received', () => ({
        kind: 'uploaded',
        path: path(),
      }));
      return { status: 200, body: { data: uploadView(path(), answer) } };
    },
    async uploadFile(call, db) {
      return receiveFile({ calls, streams, db }, call);
    },
    async abortUpload(call, db) {
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'dropUpload',
        path: pathOf(call.query.path, IN_QUERY),
      }));
      return changed(answer);
    },
    async downloadFiles(call, db) {
      return sendArchive({ calls, streams, db }, call);
    },
  } satisfies Partial<FileHandlers>;
}

function createLinks(calls: NodeCalls) {
  return {
    async makeFileLink(call, db) {
      const link = await makeLink(calls, db, call, () => ({
        kind: 'makeLink',
        paths: pathsOf(call.body.paths),
        format: call.body.format ?? null,
      }));
      return { status: 200, body: { data: linkView(link) } };
    },
    async makeUploadLink(call, db) {
      const path = () => pathOf(call.body.path, { pointer: '/path' });
      const { offset, size } = call.body;
      if (offset > size)
        throw invalidValue('The offset', { pointer: '/offset' }, 'is behind the end of the file');
      const expected = await expectedOf(calls, db, call, path);
      const link = await makeLink(calls, db, call, () => ({
        kind: 'makeUploadLink',
        path: path(),
        offset,
        size,
        expected,
      }));
      return { status: 200, body: { data: linkView(link) } };
    },
  } satisfies Partial<FileHandlers>;
}

function createChanges(calls: NodeCalls) {
  return {
    async makeFolder(call, db) {
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'makeFolder',
        path: pathOf(call.body.path, { pointer: '/path' }),
      }));
      return changed(answer);
    },
    async moveFiles(call, db) {
      const { moves, replace = false } = call.body;
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'move',
        moves: moves.map(({ from, to }, index) => ({
          from: pathOf(from, { pointer: `/moves/${index}/from` }),
          to: pathOf(to, { pointer: `/moves/${index}/to` }),
        })),
        replace,
      }));
      return changed(answer);
    },
    async deleteFiles(call, db) {
      const { paths, permanently: forGood = false } = call.body;
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'delete',
        paths: pathsOf(paths),
        forGood,
      }));
      return changed(answer);
    },
    async setFileModes(call, db) {
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'setMode',
        files: call.body.files.map(({ path, mode }, index) => ({
          path: pathOf(path, { pointer: `/files/${index}/path` }),
          mode: Number.parseInt(mode, 8),
        })),
      }));
      return changed(answer);
    },
  } satisfies Partial<FileHandlers>;
}

function createJobs(calls: NodeCalls) {
  return {
    async listFileJobs(call, db) {
      const { jobs } = await readFiles(calls, db, call, 'jobs', () => ({ kind: 'listJobs' }));
      return { status: 200, body: { data: jobs.map(jobView) } };
    },
    async cancelFileJob(call, db) {
      const { job: id } = call.params;
      const { job } = await changeFiles(calls, db, call, 'job', () => {
        if (!ID.test(id)) throw new Problem('not_found', 'There is no such job.');
        return { kind: 'cancelJob', id };
      });
      return { status: 200, body: { data: jobView(job) } };
    },
  } satisfies Partial<FileHandlers>;
}

/** The operations that begin a job. */
function createBeginnings(calls: NodeCalls) {
  return {
    async copyFile(call, db) {
      const { from, to } = call.body;
      const { job } = await changeFiles(calls, db, call, 'job', () => ({
        kind: 'copy',
        from: pathOf(from, { pointer: '/from' }),
        to: pathOf(to, { pointer: '/to' }),
      }));
      return { status: 200, body: { data: jobView(job) } };
    },
    async archiveFiles(call, db) {
      const { paths, to, format } = call.body;
      const { job } = await changeFiles(calls, db, call, 'job', () => ({
        kind: 'archive',
        paths: pathsOf(paths),
        to: pathOf(to, { pointer: '/to' }),
        format,
      }));
      return { status: 200, body: { data: jobView(job) } };
    },
    async unpackFile(call, db) {
      const { path, to = '' } = call.body;
      const { job } = await changeFiles(calls, db, call, 'job', () => ({
        kind: 'unpack',
        path: pathOf(path, { pointer: '/path' }),
        to: pathOf(to, { pointer: '/to' }),
      }));
      return { status: 200, body: { data: jobView(job) } };
    },
    async pullFile(call, db) {
      const { url, path, replace = false } = call.body;
      const { job } = await changeFiles(calls, db, call, 'job', () => ({
        kind: 'pull',
        url: urlOf(url),
        path: pathOf(path, { pointer: '/path' }),
        replace,
      }));
      return { status: 200, body: { data: jobView(job) } };
    },
  } satisfies Partial<FileHandlers>;
}

function createBin(calls: NodeCalls) {
  return {
    async listDeletedFiles(call, db) {
      const { items, days } = await readFiles(calls, db, call, 'bin', () => ({ kind: 'listBin' }));
      return { status: 200, body: { data: items.map(deletedView), meta: { days } } };
    },
    async restoreFiles(call, db) {
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'restore',
        ids: idsOf(call.body.ids),
      }));
      return changed(answer);
    },
    async emptyBin(call, db) {
      const { ids } = call.body;
      const answer = await changeFiles(calls, db, call, 'done', () => ({
        kind: 'emptyBin',
        ids: ids === undefined ? null : idsOf(ids),
      }));
      return changed(answer);
    },
  } satisfies Partial<FileHandlers>;
}

function changed(answer: Parameters<typeof changedView>[0]) {
  return { status: 200, body: { data: changedView(answer) } };
}

/**
 * The one spelling of a URL, without its fragment, which is no part of a request. Throws 422. Which hosts may be connected to,
 * the node decides, which connects.
 */
function urlOf(text: string): string {
  const url = parseHttpUrl(text);
  if (!url.ok) throw invalidValue('The URL', { pointer: '/url' }, url.reason);
  url.value.hash = '';
  return url.value.href;
}

function folderOf({ path = '' }: { readonly path?: string }): string {
  return pathOf(path, IN_QUERY);
}

function pathsOf(paths: readonly string[]): readonly string[] {
  return paths.map((path, index) => pathOf(path, { pointer: `/paths/${index}` }));
}

/** The id of an item of the bin, and of a job. */
const ID = /^[\w-]{1,64}$/;

function idsOf(ids: readonly string[]): readonly string[] {
  const wrong = ids.findIndex((id) => !ID.test(id));
  if (wrong === -1) return ids;
  throw new Problem('not_found', `There is no ${ids[wrong]} in the bin.`);
}

function bytesOf({ content, encoding }: CallOf<'writeFile'>['body']): Buffer {
  const isText = encoding !== 'base64';
  if (!isText && !/^[A-Za-z0-9+/]*={0,2}$/.test(content))
    throw invalidValue('The content', { pointer: '/content' }, 'is not base64');
  const bytes = Buffer.from(content, isText ? 'utf8' : 'base64');
  if (bytes.length <= MAX_CONTENT_BYTES) return bytes;
  throw new Problem('payload_too_large', 'The content is larger than 4 MiB.');
}
