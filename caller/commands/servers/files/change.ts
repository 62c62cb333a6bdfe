import type { FilesChanged } from '@portcullis/client/generated/operations.ts';
import { connect } from '../../../connect.ts';
import { failed, usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { print, printable, printJson } from '../../../output.ts';
import { findUuid } from '../find.ts';
import { reportJob } from './archive.ts';

interface RemoveOptions extends CallOptions {
  readonly permanently?: boolean;
}

export async function removeFiles(
  server: string,
  paths: readonly string[],
  options: RemoveOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const permanently = options.permanently === true;
  const { data } = await client.deleteFiles({ slice, body: { paths: [...paths], permanently } });
  reportChanged(data, options, permanently ? 'deleted' : 'moved to the bin');
}

interface MoveOptions extends CallOptions {
  readonly replace?: boolean;
}

export async function moveFiles(
  server: string,
  from: string,
  to: string,
  options: MoveOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const replace = options.replace === true;
  const { data } = await client.moveFiles({ slice, body: { moves: [{ from, to }], replace } });
  reportChanged(data, options, `moved to ${to}`);
}

export async function copyFile(
  server: string,
  from: string,
  to: string,
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.copyFile({ slice, body: { from, to } });
  await reportJob(client, slice, data, options);
}

export async function makeFolder(
  server: string,
  path: string,
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.makeFolder({ slice, body: { path } });
  reportChanged(data, options, 'made');
}

export async function chmodFiles(
  server: string,
  mode: string,
  paths: readonly string[],
  options: CallOptions,
): Promise<void> {
  if (!/^0?[0-7]{3}$/.test(mode)) throw usageError(`${mode} is not a mode such as 644 or 755`);
  const client = connect(options);
  const slice = await findUuid(client, server);
  const files = paths.map((path) => ({ path, mode }));
  const { data } = await client.setFileModes({ slice, body: { files } });
  reportChanged(data, options, `has mode ${mode}`);
}

/** Prints what was done; throws if something was not. */
export function reportChanged(
  { done, failed: refused }: FilesChanged['data'],
  options: CallOptions,
  what: string,
): void {
  if (options.json === true) printJson({ done, failed: refused });
  else if (options.quiet !== true) for (const path of done) print(`${printable(path)} ${what}.`);
  if (refused.length === 0) return;
  const reasons = refused.map(({ reason }) => printable(reason)).join(' ');
  throw failed(`${refused.length} of ${refused.length + done.length} were not changed: ${reasons}`);
}
