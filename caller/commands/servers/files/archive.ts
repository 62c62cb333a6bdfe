import { setTimeout as delay } from 'node:timers/promises';
import type { FileJob } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { connect } from '../../../connect.ts';
import { failed, usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { localTime, print, printable, printJson, printTable, warn } from '../../../output.ts';
import { Progress } from '../../../progress.ts';
import { findUuid } from '../find.ts';

const FORMATS = ['tar.gz', 'tar.zst', 'zip', 'tar'] as const;
const LOOK_MS = 1_000;
/** The ends of a job but for `done`, in a sentence. */
const ENDS: Readonly<Record<string, string>> = { cancelled: 'was cancelled' };

export async function archiveFiles(
  server: string,
  to: string,
  paths: readonly string[],
  options: CallOptions,
): Promise<void> {
  const format = FORMATS.find((one) => to.endsWith(`.${one}`));
  if (format === undefined)
    throw usageError(`${to} does not end in .zip, .tar, .tar.gz or .tar.zst`);
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.archiveFiles({ slice, body: { paths: [...paths], to, format } });
  await reportJob(client, slice, data, options);
}

export async function unpackFile(
  server: string,
  path: string,
  folder: string | undefined,
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const to = folder === undefined ? {} : { to: folder };
  const { data } = await client.unpackFile({ slice, body: { path, ...to } });
  await reportJob(client, slice, data, options);
}

interface PullOptions extends CallOptions {
  readonly replace?: boolean;
}

export async function pullFile(
  server: string,
  url: string,
  path: string | undefined,
  options: PullOptions,
): Promise<void> {
  const to = path ?? nameOf(url);
  if (to === null) throw usageError(`${url} names no file; say where it goes`);
  const client = connect(options);
  const slice = await findUuid(client, server);
  const body = { url, path: to, replace: options.replace === true };
  const { data } = await client.pullFile({ slice, body });
  await reportJob(client, slice, data, options);
}

/** The file that a URL names, by the last part of its path; null for none. */
function nameOf(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) throw usageError(`${text} is no URL`);
  const name = url.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(name) || null;
  } catch {
    return name;
  }
}

export async function cancelJob(server: string, job: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.cancelFileJob({ slice, job });
  if (options.json === true) return printJson(data);
  if (options.quiet === true) return;
  const what = `The ${data.kind} of ${printable(data.path)}`;
  if (data.state === 'running') print(`${what} ends as soon as it can.`);
  else if (data.state === 'cancelled') print(`${what} is cancelled.`);
  else print(`${what} had ended: ${data.state}.`);
}

export async function listJobs(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.listFileJobs({ slice });
  if (options.json === true) return printJson(data);
  if (data.length === 0) return print('No long operations.');
  await printTable(
    ['STARTED', 'KIND', 'STATE', 'FILES', 'DONE', 'PATH', 'ID'],
    data.map((job) => [
      localTime(job.started_at),
      job.kind,
      job.state,
      String(job.entries),
      describeBytes(job),
      printable(job.path),
      job.id,
    ]),
  );
}

/** How much was done, and of how much where that is known: `3 of 12 MiB`. While nothing is, why it waits. */
function describeBytes({ state, entries, bytes, total_bytes: total, notes }: FileJob): string {
  if (state === 'running' && entries === 0 && bytes === 0 && notes.length > 0)
    return printable(notes.join(' '));
  const mib = (count: number): number => Math.round(count / 1024 ** 2);
  return total === null ? `${mib(bytes)} MiB` : `${mib(bytes)} of ${mib(total)} MiB`;
}

/** Waits until a job has ended, and prints what became of it; throws if that is not `done`. */
export async function reportJob(
  client: KeyClient,
  slice: string,
  begun: FileJob,
  options: CallOptions,
): Promise<void> {
  const progress = new Progress(options);
  let job = begun;
  while (job.state === 'running') {
    progress.show(`${job.entries} files, ${describeBytes(job)}`);
    await delay(LOOK_MS);
    const { data } = await client.listFileJobs({ slice });
    const found = data.find(({ id }) => id === begun.id);
    if (found === undefined) throw failed('the node was restarted and has forgotten the job');
    job = found;
  }
  progress.end();
  if (options.json === true) printJson(job);
  else for (const note of job.notes) warn(printable(note));
  if (job.state !== 'done')
    throw failed(`the ${job.kind} of ${printable(job.path)} ${ENDS[job.state] ?? job.state}`);
  if (options.json !== true && options.quiet !== true)
    print(`${printable(job.path)}: ${job.kind} of ${job.entries} files is done.`);
}
