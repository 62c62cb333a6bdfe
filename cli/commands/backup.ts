import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { onDatabase } from '../database.ts';
import { failed, unavailable, usageError } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson } from '@portcullis/caller/output.ts';

interface RestoreOptions extends DatabaseOptions {
  readonly force?: boolean;
}

export function addBackup(program: Command): void {
  withDatabaseOptions(
    program
      .command('backup')
      .description('everything that the database has, as of one moment, in one file')
      .argument('<file>', 'a new file; only its owner may read it'),
  )
    .addHelpText(
      'after',
      `
The platform keeps running. Files of game servers are not in it: they are on the nodes, where they stay.
It holds hashes of keys and passwords, and secrets of webhooks and authenticator apps: keep it as you keep those.

  portcullis backup /var/backups/portcullis-$(date +%F).gz`,
    )
    .action(runBackup);
}

export function addRestore(program: Command): void {
  withDatabaseOptions(
    program
      .command('restore')
      .description('make the database what it was when a backup was made')
      .argument('<file>', 'of portcullis backup'),
  )
    .option('--force', 'also replace a database that is in use; what it has is lost')
    .addHelpText(
      'after',
      `
In one transaction: a file that is damaged or incomplete changes nothing. A platform on the database keeps running:
edges enforce what they have until they have fetched the restored rules, game servers run on, and control restarts.

  portcullis restore portcullis-2026-11-25.gz --data /var/lib/portcullis     on a new host, before its first up
  portcullis restore portcullis-2026-11-25.gz --force                        into what runs here`,
    )
    .action(runRestore);
}

async function runBackup(file: string, options: DatabaseOptions): Promise<void> {
  const path = resolve(file);
  if (existsSync(path)) throw usageError(`${path} exists already: choose another name`);
  const { backUp } = await import('@portcullis/control/db/backup/backup.ts');
  const result = await onDatabase(options, ({ url }) =>
    explained(path, 'written', () => backUp({ url, path }, showProgress('saved'))),
  );
  const bytes = statSync(path).size;
  if (options.json === true) return printJson({ file: path, bytes, ...result });
  print(
    `${path} has ${result.rows} rows of ${result.tables} tables, as of generation ${result.generation} (${shownSize(bytes)}).`,
  );
}

async function runRestore(file: string, options: RestoreOptions): Promise<void> {
  const path = resolve(file);
  if (!existsSync(path)) throw usageError(`there is no file ${path}`);
  const { restore } = await import('@portcullis/control/db/backup/restore.ts');
  const replace = options.force === true;
  const result = await onDatabase(
    options,
    (target) =>
      explained(path, 'restored', () =>
        restore({ ...target, path, replace }, showProgress('restored')),
      ),
    { create: true },
  );
  if (options.json === true) return printJson(result);
  print(
    `Restored ${result.rows} rows of ${result.tables} tables, as of ${result.madeAt}. Edges take generation ${result.generation} next.`,
  );
}

/** Says of what failed that the file was not written or restored, and why. */
async function explained<T>(path: string, done: string, work: () => Promise<T>): Promise<T> {
  const [{ BackupError }, { isUnavailable }] = await Promise.all([
    import('@portcullis/control/db/backup/format.ts'),
    import('@portcullis/control/db/failure.ts'),
  ]);
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `${path} was not ${done}: ${why}`;
    if (isUnavailable(error)) throw unavailable(message, error);
    if (error instanceof BackupError || isOfFile(error)) throw failed(message, error);
    throw error;
  }
}

/** Whether the file system refused. */
function isOfFile(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

/** Rewrites one line of the terminal; scripts see nothing of it. */
function showProgress(what: string): (done: number, total: number) => void {
  return (done, total) => {
    if (!process.stderr.isTTY) return;
    process.stderr.write(
      `\r${done + 1} of ${total} tables ${what}${done + 1 === total ? '\n' : ''}`,
    );
  };
}

function shownSize(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.ceil(bytes / 1_000)} kB`
    : `${Math.ceil(bytes / 1_000_000)} MB`;
}
