import { SUSPENDED } from '@portcullis/core/game-servers/power.ts';
import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import type {
  FileAnswer,
  FileAnswerOf,
  FileOperation,
  FileOperationOf,
  FileRefusalCode,
} from '@portcullis/link/messages/files.ts';
import { type Caller, keyActor, rightsOn } from '../../access/index.ts';
import type { Reader } from '../../db/database.ts';
import { notSeen } from '../../http/operations/not-found.ts';
import type { Writing } from '../../http/operations/operation.ts';
import { conflict, Problem } from '../../problem.ts';
import { requireRight } from '../../http/operations/server-right.ts';
import { type Attempt, isUnconfirmed, type Outcome, recordAttempt } from '../attempt.ts';
import type { ServerCall } from '../require-server.ts';
import type { NodeCalls, Silence } from '../nodes/calls.ts';
import { loadServer, type ServerRow } from '../store.ts';
import { callerRef } from './caller-rights.ts';

/** Answers of a node but for refusals, which are thrown as problems. */
type Answered = Exclude<FileAnswer, { readonly kind: 'refused' }>;

/**
 * Asks the node of the call's server to read something of its files. `operationOf` checks the input, which comes after the
 * check that the server is seen. Throws what the caller is answered instead.
 */
export async function readFiles<K extends Answered['kind']>(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall,
  kind: K,
  operationOf: () => FileOperation,
): Promise<FileAnswerOf<K>> {
  const server = await loadReady(db, call);
  return expectAnswer(kind, await askNode(calls, call, server, operationOf()));
}

/** The tag of a file's content; null if there is no file. */
export async function readTag(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall,
  pathOf: () => string,
): Promise<string | null> {
  const server = await loadReady(db, call);
  const answer = await askNode(calls, call, server, { kind: 'tag', path: pathOf() });
  return expectAnswer('tagged', answer).tag;
}

/** Asks the node to change something. The attempt is audited before, and what became of it after. */
export async function changeFiles<K extends Answered['kind']>(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall & Writing<Caller>,
  kind: K,
  operationOf: () => FileOperation,
): Promise<FileAnswerOf<K>> {
  const server = await loadReady(db, call);
  const operation = operationOf();
  const attempt = await recordChange(db, call, operation);
  const answer = await askNode(calls, call, server, operation);
  await attempt.close(outcomeOf(answer));
  return expectAnswer(kind, answer);
}

/** Lets the node make a link to itself. One of an earlier version knows none, and would not answer. */
export async function makeLink(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall & Writing<Caller>,
  operationOf: () => FileOperationOf<'makeLink' | 'makeUploadLink'>,
): Promise<FileAnswerOf<'linked'>> {
  const { fileLinks } = await loadReady(db, call);
  if (!fileLinks)
    throw conflict('The node of the server serves no links: send and receive files by control.');
  return changeFiles(calls, db, call, 'linked', operationOf);
}

/** Audits a change before the node is asked for it. */
export function recordChange(
  db: Reader,
  call: ServerCall & Writing<Caller>,
  operation: FileOperation,
): Promise<Attempt> {
  return recordAttempt(db, call, {
    action: ACTIONS[operation.kind],
    detail: summaryOf(operation),
    check: (tx, by) => loadSeen(tx, { ...call, by }),
  });
}

/** The server of the path, which has files that the caller has some right to. */
export async function loadReady(db: Reader, call: ServerCall): Promise<ServerRow> {
  const server = await loadSeen(db, call);
  if (!server.provisioned) throw conflict('The server is not provisioned yet: it has no files.');
  // The node learns of it a moment later.
  if (server.suspended) throw refusal('unavailable', SUSPENDED);
  return server;
}

/** The server of the path, to whose files the caller has some right: which ones an operation needs, its node decides. */
async function loadSeen(
  db: Reader,
  { by, params: { slice } }: Pick<ServerCall, 'by' | 'params'>,
): Promise<ServerRow> {
  const server = await loadServer(db, by, slice);
  if (server === null) throw notSeen();
  requireRight(by, slice, 'file.read', ...FILE_RIGHTS);
  return server;
}

function fileRightsOf(by: Caller, uuid: string): readonly FileRight[] {
  const rights = rightsOn(by, uuid);
  return FILE_RIGHTS.filter((right) => rights.has(right));
}

export function askNode(
  calls: NodeCalls,
  call: ServerCall,
  server: ServerRow,
  operation: FileOperation,
): Promise<FileAnswer | Silence> {
  const rights = fileRightsOf(call.by, server.uuid);
  const actor = keyActor(call).name.slice(0, 255);
  const message = { rights, actor, caller: callerRef(call.by), operation };
  return calls.files(server, message, calls.timeouts.instructMs);
}

/** The answer of this kind; throws what the caller is answered instead. */
export function expectAnswer<K extends Answered['kind']>(
  kind: K,
  answer: FileAnswer | Silence,
): FileAnswerOf<K> {
  if (answer.kind === kind) return answer as FileAnswerOf<K>;
  if (answer.kind === 'silent') throw silence(answer.why);
  if (answer.kind !== 'refused') throw new Error(`a node answered ${answer.kind}, not ${kind}`);
  throw refusal(answer.code, answer.reason);
}

const PROBLEMS = {
  not_found: 'not_found',
  exists: 'conflict',
  changed: 'precondition_failed',
  forbidden: 'ability_missing',
  denied: 'conflict',
  too_large: 'limit_exceeded',
  quota: 'limit_exceeded',
  busy: 'conflict',
  unavailable: 'conflict',
  impossible: 'conflict',
  range: 'range_not_satisfiable',
  lost: 'unavailable',
} as const satisfies Readonly<Record<FileRefusalCode, Problem['code']>>;

function refusal(code: FileRefusalCode, reason: string): Problem {
  return new Problem(PROBLEMS[code], reason);
}

const SILENCES: Readonly<Record<Silence['why'], string>> = {
  absent: 'The node of the server is not connected, so its files cannot be reached.',
  busy: 'Too much is asked of the node of the server already. Try again.',
  cut: 'The connection to the node of the server ended before it answered. A change may have been made all the same: look at the files.',
  late: 'The node of the server did not answer in time. A change may have been made all the same: look at the files. A node of an earlier version knows no files, and must be updated.',
};

function silence(why: Silence['why']): Problem {
  return new Problem('unavailable', SILENCES[why], { headers: { 'retry-after': '5' } });
}

/** Names of the activity, and with `server.` before them of the audit trail. */
const ACTIONS = {
  list: 'files.list',
  read: 'files.read',
  write: 'files.write',
  move: 'files.move',
  copy: 'files.copy',
  delete: 'files.delete',
  makeFolder: 'files.folder',
  setMode: 'files.mode',
  search: 'files.search',
  measure: 'files.measure',
  listBin: 'files.bin',
  restore: 'files.restore',
  emptyBin: 'files.empty-bin',
  archive: 'files.archive',
  unpack: 'files.unpack',
  pull: 'files.pull',
  listJobs: 'files.jobs',
  cancelJob: 'files.cancel',
  tag: 'files.read',
  send: 'files.download',
  pack: 'files.download',
  receive: 'files.upload',
  outcome: 'files.upload',
  makeLink: 'files.link',
  makeUploadLink: 'files.upload-link',
  uploaded: 'files.upload',
  dropUpload: 'files.abort-upload',
} as const satisfies Readonly<Record<FileOperation['kind'], string>>;

/** Items of a list that the audit trail keeps. */
const MAX_NAMED = 20;

/** The part of an operation that the audit trail keeps: never the content of a file, and the beginning of long lists. */
function summaryOf(operation: FileOperation): Readonly<Record<string, unknown>> {
  const summary: Record<string, unknown> = {};
  for (const [name, value] of Object.entries<unknown>(operation)) {
    if (name === 'kind' || name === 'ticket') continue;
    if (name === 'content') summary['size'] = Math.floor((String(value).length * 3) / 4);
    else if (name === 'url') summary['url'] = withoutQuery(String(value));
    else summary[name] = Array.isArray(value) ? value.slice(0, MAX_NAMED) : value;
    if (Array.isArray(value) && value.length > MAX_NAMED) summary['of'] = value.length;
  }
  return summary;
}

/** A URL as others may read it: the query of one that was signed lets anyone fetch what it names. */
function withoutQuery(text: string): string {
  const url = URL.parse(text);
  return url === null ? '' : `${url.origin}${url.pathname}${url.search === '' ? '' : '?…'}`;
}

/** The outcome of a change, for its entries in the audit trail and the activity. */
export function outcomeOf(answer: FileAnswer | Silence): Outcome {
  if (answer.kind === 'refused') return { kind: 'refused', message: answer.reason };
  if (answer.kind === 'silent') {
    const message = SILENCES[answer.why];
    return { kind: isUnconfirmed(answer) ? 'unconfirmed' : 'refused', message };
  }
  const [first, ...others] = answer.kind === 'done' ? answer.failed : [];
  if (first === undefined) return { kind: 'done' };
  return { kind: 'refused', failed: others.length + 1, message: first.reason };
}
