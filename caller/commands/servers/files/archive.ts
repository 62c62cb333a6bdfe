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

export async function listJobs(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.listFileJobs({ slice });
  if (options.json === true) return printJson(data);
  if (data.length === 0) return print('No long operations.');
  await printTable(
    ['STARTED', 'KIND', 'STATE', 'FILES', 'PATH'],
    data.map(({ started_at: at, kind, state, entries, path }) => [
      localTime(at),
      kind,
      state,
      String(entries),
      printable(path),
    ]),
  );
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
    progress.show(`${job.entries} files, ${Math.round(job.bytes / 1024 ** 2)} MiB`);
    await delay(LOOK_MS);
    const { data } = await client.listFileJobs({ slice });
    const found = data.find(({ id }) => id === begun.id);
    if (found === undefined) throw failed('the node was restarted and has forgotten the job');
    job = found;
  }
  progress.end();
  if (options.json === true) printJson(job);
  else for (const note of job.notes) warn(printable(note));
  if (job.state !== 'done') throw failed(`the ${job.kind} of ${printable(job.path)} ${job.state}`);
  if (options.json !== true && options.quiet !== true)
    print(`${printable(job.path)}: ${job.kind} of ${job.entries} files is done.`);
}
