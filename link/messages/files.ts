import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { MAX_PATH_LENGTH, parsePath } from '@portcullis/core/game-servers/files/path.ts';
import {
  array,
  boolean,
  integer,
  kinds,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  output,
  parsedBy,
  prose,
  type Schema,
  type Static,
  type StaticUnion,
  text,
  union,
  withDefault,
} from './schema.ts';
import { answerTimeoutMs, moment, reason } from './values.ts';

/** The calls of control to a node about the files of a game server, and its answers. */

/** The size of a file that one call reads or writes. Larger ones are streams. */
export const MAX_CALL_BYTES = 4 * 1024 * 1024;
/** The longest URL that is pulled from. */
export const MAX_URL_LENGTH = 2_048;
/** Callers whose rights one check asks for. */
export const MAX_CHECKED_CALLERS = 1_000;
/** Entries of one page. */
export const MAX_PAGE = 1_000;
/** Files that one call moves, deletes or changes. */
export const MAX_FILES_OF_CALL = 100;
/** Hits of one search. */
export const MAX_FOUND = 500;
const MAX_BINNED = 1_000;
const MAX_JOBS = 64;
const MAX_FOUND_LINE = 400;

const uuid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a uuid in lower case');
const path = parsedBy((value) => parsePath(value).ok, 'a path', MAX_PATH_LENGTH);
const pathOfAnswer = text(MAX_PATH_LENGTH);
const mode = integer(0, 0o777);
/** Names the content of a file. */
const tag = matching(/^[\w-]{1,64}$/, 'a tag');
const binId = matching(/^[\w-]{1,64}$/, 'an id of the bin');
const jobId = matching(/^[\w-]{1,64}$/, 'an id of a job');
/** A person or an API key: `person:17`, `key:3`. */
const callerRef = matching(/^(?:person|key):\d{1,16}$/, 'a person or a key');

const MAX_BASE64 = Math.ceil(MAX_CALL_BYTES / 3) * 4;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const base64: Schema<string> = (value, at) =>
  parsedBy((one) => BASE64.test(one), 'base64 of at most 4 MiB', MAX_BASE64)(value, at);

/** Where and how the node opens a stream of bytes. The token is a secret, and good for one request. */
const ticket = object({
  /** Names the stream in later calls. */
  id: jobId,
  token: matching(/^[\w-]{43}$/, 'a token'),
  /** The URL of the replica that waits; a node on the same host uses the socket of the link. */
  url: matching(/^https?:\/\/[\x21-\x7e]{1,1000}$/, 'a URL'),
});
export type StreamTicket = Static<typeof ticket>;

/** A part of a file: from a byte to a byte, both included; without a start the last bytes. */
const range = object({ start: nullable(natural), end: nullable(natural) });
export type FileRange = Static<typeof range>;

export const ARCHIVE_FORMATS = ['zip', 'tar', 'tar.gz', 'tar.zst'] as const;

const FILE_OPERATIONS = kinds({
  list: {
    path,
    sort: oneOf('name', 'size', 'modified'),
    descending: boolean,
    offset: natural,
    limit: integer(1, MAX_PAGE),
    /** Looks into each file of the page for what it holds. */
    withContent: boolean,
  },
  read: { path },
  write: {
    path,
    content: base64,
    /** Null: that of the file, or of a new one. */
    mode: nullable(mode),
    /** The tag that the file must have; `absent`: there must be none. Null: any. */
    expected: nullable(tag),
  },
  move: {
    moves: array(object({ from: path, to: path }), MAX_FILES_OF_CALL),
    /** Whether an entry that is there goes to the bin. */
    replace: boolean,
  },
  copy: { from: path, to: path },
  /** To the bin; `forGood`: not. */
  delete: { paths: array(path, MAX_FILES_OF_CALL), forGood: boolean },
  makeFolder: { path },
  setMode: { files: array(object({ path, mode }), MAX_FILES_OF_CALL) },
  search: {
    path,
    /** A part of the name, or a pattern with `*` and `?`. */
    name: nullable(text(512)),
    /** A part of a line. */
    text: nullable(text(2_048)),
    limit: integer(1, MAX_FOUND),
  },
  measure: { path },
  listBin: {},
  restore: { ids: array(binId, MAX_FILES_OF_CALL) },
  /** Null: all of it. */
  emptyBin: { ids: nullable(array(binId, MAX_FILES_OF_CALL)) },
  archive: {
    paths: array(path, MAX_FILES_OF_CALL),
    to: path,
    format: oneOf(...ARCHIVE_FORMATS),
  },
  unpack: { path, to: path },
  /** Fetches a URL into a file; `replace`: whether one that is there is replaced. */
  pull: { url: text(MAX_URL_LENGTH), path, replace: boolean },
  listJobs: {},
  cancelJob: { id: jobId },
  /** Asks for the tag of a file. */
  tag: { path },
  /** Sends a file, or a part of it. */
  send: { path, range: nullable(range), ticket },
  /** Sends an archive of files and folders. */
  pack: {
    paths: array(path, MAX_FILES_OF_CALL),
    format: oneOf(...ARCHIVE_FORMATS),
    ticket,
  },
  /** Receives a file from an offset on, and gives it its name when it has its size. */
  receive: { path, offset: natural, size: natural, expected: nullable(tag), ticket },
  /** Makes a link by which a file (`format` null), or an archive, is fetched once from the node itself. */
  makeLink: {
    paths: array(path, MAX_FILES_OF_CALL),
    format: nullable(oneOf(...ARCHIVE_FORMATS)),
  },
  /** Makes a link by which the bytes of a file, from an offset on, are sent once to the node itself. */
  makeUploadLink: { path, offset: natural, size: natural, expected: nullable(tag) },
  /** Waits for the end of what a stream brought. */
  outcome: { id: jobId },
  /** How much of a file was received. */
  uploaded: { path },
  dropUpload: { path },
});
export type FileOperation = StaticUnion<typeof FILE_OPERATIONS>;
export type FileOperationOf<K extends FileOperation['kind']> = Extract<FileOperation, { kind: K }>;

export const FILE_CALLS = kinds({
  'node.files': {
    /** A node that could only start after this time does not start. */
    withinMs: answerTimeoutMs,
    uuid,
    /** Rights of the caller now. */
    rights: array(oneOf(...FILE_RIGHTS), 16),
    /** The caller, for the node's log. */
    actor: prose(255),
    /** The caller, whose rights a job needs as long as it runs. Null: of a control plane that does not say it. */
    caller: withDefault(nullable(callerRef), null),
    operation: union<FileOperation>(FILE_OPERATIONS),
  },
});
export type FileCall = Static<(typeof FILE_CALLS)['node.files']>;

const heldBy = object({ server: uuid, caller: callerRef });
/** A caller that began something on a server. */
export type CallerOnServer = Static<typeof heldBy>;

export const FILE_REQUESTS = kinds({
  /** Asks for the rights to files that callers of running jobs have now. */
  'files.check': { callers: array(heldBy, MAX_CHECKED_CALLERS) },
});

export const FILE_REPLIES = kinds({
  /** In the order of the callers. */
  'files.rights': { rights: array(array(oneOf(...FILE_RIGHTS), 16), MAX_CHECKED_CALLERS) },
});
export type FileRightsReply = Static<(typeof FILE_REPLIES)['files.rights']>;

const TYPES = ['file', 'folder', 'link', 'other'] as const;
/** Kinds of content by the first bytes of a file. */
export const CONTENT_KINDS = ['empty', 'text', 'image', 'archive', 'binary'] as const;
export type ContentKind = (typeof CONTENT_KINDS)[number];

const entry = object({
  name: text(1_024),
  type: oneOf(...TYPES),
  size: natural,
  modifiedAtMs: moment,
  mode,
  /** The egg denies it to everybody. */
  denied: boolean,
  /** Null: not looked for. */
  content: nullable(oneOf(...CONTENT_KINDS)),
});
export type FileEntry = Static<typeof entry>;

export const REFUSAL_CODES = [
  'not_found',
  'exists',
  'changed',
  'forbidden',
  'denied',
  'too_large',
  'quota',
  'busy',
  'unavailable',
  'impossible',
  'range',
  'lost',
] as const;
export type FileRefusalCode = (typeof REFUSAL_CODES)[number];
const code = oneOf(...REFUSAL_CODES);

const job = object({
  id: jobId,
  kind: oneOf('copy', 'archive', 'unpack', 'pull'),
  path: pathOfAnswer,
  state: oneOf('running', 'done', 'failed', 'cancelled'),
  startedAtMs: moment,
  bytes: natural,
  /** The bytes that it will have in the end; null: not known. */
  totalBytes: withDefault(nullable(natural), null),
  entries: natural,
  /** Sentences for the caller: why it failed, what was left out. */
  notes: array(prose(500), 32),
});
export type FileJob = Static<typeof job>;

export const FILE_ANSWERS = kinds({
  /** The reason is a sentence for the caller. */
  refused: { code, reason },
  entries: {
    entries: array(entry, MAX_PAGE),
    total: natural,
    /** False: the folder has more than were read. */
    complete: boolean,
  },
  content: { content: base64, tag, size: natural, modifiedAtMs: moment, mode },
  written: { tag, size: natural, created: boolean },
  /** Each path is in one of both. */
  done: {
    done: array(pathOfAnswer, MAX_BINNED),
    failed: array(object({ path: pathOfAnswer, code, reason }), MAX_BINNED),
  },
  found: {
    found: array(
      object({
        path: pathOfAnswer,
        type: oneOf(...TYPES),
        size: natural,
        /** The number of a line that has the text. */
        line: nullable(natural),
        text: nullable(output(MAX_FOUND_LINE)),
      }),
      MAX_FOUND,
    ),
    /** False: time or limits ended the search. */
    complete: boolean,
  },
  measured: {
    bytes: natural,
    entries: natural,
    complete: boolean,
    children: array(
      object({
        name: text(1_024),
        type: oneOf(...TYPES),
        bytes: natural,
        entries: natural,
        complete: boolean,
      }),
      MAX_PAGE,
    ),
  },
  bin: {
    items: array(
      object({
        id: binId,
        path: pathOfAnswer,
        type: oneOf(...TYPES),
        size: natural,
        deletedAtMs: moment,
      }),
      MAX_BINNED,
    ),
    /** Days after which an item is removed. */
    days: natural,
  },
  /** Null: there is no file. */
  tagged: { tag: nullable(tag) },
  /** The stream is being opened. Null: an archive, of which nothing is known before. */
  sending: {
    file: nullable(
      object({ tag, size: natural, modifiedAtMs: moment, offset: natural, length: natural }),
    ),
  },
  receiving: {},
  linked: { url: matching(/^https:\/\/[\x21-\x7e]{1,1000}$/, 'a URL'), expiresAtMs: moment },
  /** `size` null: nothing was received. `isOpen`: the stream has not ended. */
  received: { received: natural, size: nullable(natural), isWhole: boolean, isOpen: boolean },
  job: { job },
  jobs: { jobs: array(job, MAX_JOBS) },
});
export type FileAnswer = StaticUnion<typeof FILE_ANSWERS>;
export type FileAnswerOf<K extends FileAnswer['kind']> = Extract<FileAnswer, { kind: K }>;
