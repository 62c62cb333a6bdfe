import type { Ability } from '@portcullis/core/access/abilities.ts';
import { fileRightsOf } from '@portcullis/core/game-servers/files/rights.ts';
import type {
  FileAnswer,
  FileAnswerOf,
  FileOperation,
  FileRefusalCode,
} from '@portcullis/link/messages/files.ts';
import { keyActor } from '../../access/index.ts';
import type { Reader } from '../../db/database.ts';
import { notSeen } from '../../http/operations/not-found.ts';
import type { Writing } from '../../http/operations/operation.ts';
import { conflict, Problem } from '../../problem.ts';
import { recordAttempt, type ServerCall } from '../attempt.ts';
import type { NodeCalls, Silence } from '../nodes/calls.ts';
import { loadServer, type ServerRow } from '../store.ts';

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
  const server = await loadReady(db, call, 'game-servers.files.read');
  return expect(kind, await send(calls, call, server, operationOf()));
}

/** The tag of a file's content; null if there is no file. */
export async function readTag(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall,
  pathOf: () => string,
): Promise<string | null> {
  const server = await loadReady(db, call, 'game-servers.files.manage');
  const answer = await send(calls, call, server, { kind: 'read', path: pathOf() });
  if (answer.kind === 'refused' && answer.code === 'not_found') return null;
  return expect('content', answer).tag;
}

/** Asks the node to change something. The attempt is audited before, and what became of it after. */
export async function changeFiles<K extends Answered['kind']>(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall & Writing,
  kind: K,
  operationOf: () => FileOperation,
): Promise<FileAnswerOf<K>> {
  const server = await loadReady(db, call, 'game-servers.files.manage');
  const operation = operationOf();
  const attempt = await recordAttempt(db, call, ACTIONS[operation.kind], summaryOf(operation));
  const answer = await send(calls, call, server, operation);
  await attempt.close(outcomeOf(answer));
  return expect(kind, answer);
}

async function loadReady(db: Reader, call: ServerCall, ability: Ability): Promise<ServerRow> {
  const server = await loadServer(db, call.by, ability, call.params.slice);
  if (server === null) throw notSeen();
  if (server.provisioned) return server;
  throw conflict('The server is not provisioned yet: it has no files.');
}

function send(
  calls: NodeCalls,
  call: ServerCall,
  server: ServerRow,
  operation: FileOperation,
): Promise<FileAnswer | Silence> {
  const rights = fileRightsOf(call.by.abilities);
  const message = { rights, actor: keyActor(call).name.slice(0, 255), operation };
  return calls.files(server, message, calls.timeouts.instructMs);
}

function expect<K extends Answered['kind']>(
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
  forbidden: 'conflict',
  denied: 'conflict',
  too_large: 'limit_exceeded',
  quota: 'limit_exceeded',
  busy: 'conflict',
  unavailable: 'conflict',
  impossible: 'conflict',
} as const satisfies Readonly<Record<FileRefusalCode, Problem['code']>>;

function refusal(code: FileRefusalCode, reason: string): Problem {
  return new Problem(PROBLEMS[code], reason);
}

const SILENCES: Readonly<Record<Silence['why'], string>> = {
  absent: 'The node of the server is not connected, so its files cannot be reached.',
  busy: 'Too much is asked of the node of the server already. Try again.',
  late: 'The node of the server did not answer in time. A change may have been made all the same: look at the files. A node of an earlier version knows no files, and must be updated.',
};

function silence(why: Silence['why']): Problem {
  return new Problem('unavailable', SILENCES[why], { headers: { 'retry-after': '5' } });
}

/** Names of the audit trail. */
const ACTIONS = {
  list: 'server.files.list',
  read: 'server.files.read',
  write: 'server.files.write',
  move: 'server.files.move',
  copy: 'server.files.copy',
  delete: 'server.files.delete',
  makeFolder: 'server.files.folder',
  setMode: 'server.files.mode',
  search: 'server.files.search',
  measure: 'server.files.measure',
  listBin: 'server.files.bin',
  restore: 'server.files.restore',
  emptyBin: 'server.files.empty-bin',
  archive: 'server.files.archive',
  unpack: 'server.files.unpack',
  listJobs: 'server.files.jobs',
  cancelJob: 'server.files.cancel',
} as const satisfies Readonly<Record<FileOperation['kind'], string>>;

/** Items of a list that the audit trail keeps. */
const MAX_NAMED = 20;

/** What the audit trail keeps of an operation: never the content of a file, and of long lists the beginning. */
function summaryOf(operation: FileOperation): Readonly<Record<string, unknown>> {
  const summary: Record<string, unknown> = {};
  for (const [name, value] of Object.entries<unknown>(operation)) {
    if (name === 'kind') continue;
    if (name === 'content') summary['size'] = Math.floor((String(value).length * 3) / 4);
    else summary[name] = Array.isArray(value) ? value.slice(0, MAX_NAMED) : value;
    if (Array.isArray(value) && value.length > MAX_NAMED) summary['of'] = value.length;
  }
  return summary;
}

function outcomeOf(answer: FileAnswer | Silence): object {
  if (answer.kind === 'refused') return { ok: false, message: answer.reason };
  if (answer.kind === 'silent') return { ok: false, message: SILENCES[answer.why] };
  if (answer.kind !== 'done' || answer.failed.length === 0) return { ok: true };
  const { failed } = answer;
  return { ok: false, failed: failed.length, message: failed[0]?.reason };
}
