import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { parsePublicUrl } from '@portcullis/core/net/public-url.ts';
import { formatPath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileOperationOf } from '@portcullis/link/messages/files.ts';
import { NotReachable, type Reach } from '@portcullis/link/public-http/public-target.ts';
import { getPublic, RedirectRefused } from '@portcullis/link/public-http/request.ts';
import { QuotaSink } from '../archives/sink.ts';
import type { Gate, Place } from '../gate.ts';
import type { RunningJob } from '../jobs.ts';
import { FileRefusal, isDiskFull } from '../refusal.ts';
import { withDraft, writeDraft } from '../work.ts';
import { present, publishFile } from './content.ts';
import { pathOf } from './list.ts';

const NEW_MODE = 0o644;
/** The largest file, also where the disk is not limited. */
const MAX_BYTES = 256 * 1024 ** 3;
/** A server that sends nothing for this time is given up, and so is one that sends for this time in all. */
const SILENT_MS = 60_000;
const WHOLE_MS = 6 * 3_600_000;
/** `identity`: the file as it is, and no bomb in the encoding. */
const HEADERS = {
  'user-agent': 'Portcullis',
  accept: '*/*',
  'accept-encoding': 'identity',
} as const;

/** The bounds of pulls: networks, and for tests times. */
export interface PullLimits extends Reach {
  readonly silentMs?: number;
  readonly wholeMs?: number;
}

/** Fetches a URL into a file, as a job. Returns the id of the job. */
export async function pull(
  gate: Gate,
  { url, path: text, replace }: FileOperationOf<'pull'>,
  limits: PullLimits,
): Promise<string> {
  const path = pathOf(text);
  const target = await gate.place(path, 'file.create', true);
  if (replace) gate.require('file.update');
  const parsed = parsePublicUrl(url, limits.networks);
  if (!parsed.ok) throw new FileRefusal('impossible', `The URL ${parsed.reason}.`);
  await gate.about(path, () => requireFree(target, replace));
  const rights = replace ? (['file.create', 'file.update'] as const) : (['file.create'] as const);
  return gate.begin({ kind: 'pull', path: text, rights }, (job) =>
    gate.about(path, () => pullInto(gate, target, { url, replace }, job, limits)),
  );
}

/** Throws unless a file may get its name there. */
async function requireFree(target: Place, replace: boolean) {
  const before = await present(target);
  if (before === null || replace) return before;
  throw new FileRefusal('exists', `There is a file ${formatPath(target.path)} already.`);
}

async function pullInto(
  gate: Gate,
  target: Place,
  { url, replace }: { readonly url: string; readonly replace: boolean },
  job: RunningJob,
  limits: PullLimits,
): Promise<void> {
  await withDraft(gate, async (draft) => {
    const before = await requireFree(target, replace);
    await writeDraft(gate, draft, before?.mode ?? NEW_MODE, (handle) =>
      download(gate, url, handle, job, limits),
    );
    job.signal.throwIfAborted();
    await publishFile(gate, draft, target, { replace });
    job.add({ entries: 1 });
  });
}

async function download(
  gate: Gate,
  url: string,
  handle: FileHandle,
  job: RunningJob,
  { silentMs = SILENT_MS, wholeMs = WHOLE_MS, ...reach }: PullLimits,
): Promise<void> {
  const host = URL.parse(url)?.hostname ?? 'The server';
  const timeout = new AbortController();
  const giveUp = (why: string): void =>
    timeout.abort(new FileRefusal('impossible', `${host} ${why}.`));
  const silence = setTimeout(() => giveUp(`sent nothing for ${silentMs / 1_000} s`), silentMs);
  const whole = setTimeout(() => giveUp('sends too slowly'), wholeMs);
  const signal = AbortSignal.any([job.signal, timeout.signal]);
  const sink = new QuotaSink(handle, gate.files.quota, job);
  try {
    const answer = await getPublic(url, { ...reach, headers: HEADERS }, signal);
    try {
      await requireFits(gate, answer, host, job);
      await sink.begin();
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        silence.refresh();
        if (sink.written + chunk.length > MAX_BYTES) throw tooLarge();
        await sink.write(chunk);
      }
    } finally {
      answer.on('error', () => undefined).destroy();
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : refusalOf(error, host);
  } finally {
    clearTimeout(silence);
    clearTimeout(whole);
    sink.close();
  }
}

/** Throws for an answer that is no file, and for one that says that it is larger than what is left of the quota. */
async function requireFits(
  gate: Gate,
  { statusCode, headers }: IncomingMessage,
  host: string,
  job: RunningJob,
): Promise<void> {
  if (statusCode !== 200)
    throw new FileRefusal('impossible', `${host} answered with HTTP ${statusCode}.`);
  const length = Number(headers['content-length'] ?? Number.NaN);
  if (!Number.isSafeInteger(length)) return;
  if (length > MAX_BYTES) throw tooLarge();
  job.expect(length);
  const granted = await gate.files.quota.take({ bytes: length, entries: 1 });
  granted.close({ bytes: 0, entries: 0 });
}

function tooLarge(): FileRefusal {
  return new FileRefusal('too_large', 'The file is larger than a file may be.');
}

/** Words a failure. A name without a public address and one that does not exist are alike: the node may know more names. */
function refusalOf(error: unknown, host: string): unknown {
  if (error instanceof FileRefusal || isDiskFull(error)) return error;
  if (error instanceof NotReachable) {
    const detail = `${host} has no address that the node may connect to: it must be a public one, also after a redirect.`;
    return new FileRefusal('impossible', detail, { cause: error });
  }
  if (error instanceof RedirectRefused) return new FileRefusal('impossible', error.message);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || FILE_CALLS.has(syscall ?? '')) return error;
  const detail = `The connection to ${host} failed: ${REASONS[code] ?? code}.`;
  return new FileRefusal('impossible', detail, { cause: error });
}

/** System calls of the disk, whose failure is the node's own. */
const FILE_CALLS: ReadonlySet<string> = new Set(['write', 'fsync', 'fdatasync', 'open']);

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it was ended before the file was whole',
  ERR_STREAM_PREMATURE_CLOSE: 'it was ended before the file was whole',
  ETIMEDOUT: 'nothing answers there',
  EHOSTUNREACH: 'nothing answers there',
  ENETUNREACH: 'there is no way to it',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not valid',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not valid',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is not valid for this name',
};
