import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import {
  type ExportedFleet,
  exportFleet,
} from '@portcullis/control/operator/fleet-file/export/export.ts';
import { SHIPPED_EGGS } from '@portcullis/control/operator/fleet-file/read/egg-files.ts';
import {
  describePathFailure,
  EXIT,
  failed,
  QuietExit,
  usageError,
} from '@portcullis/caller/exit.ts';
import { warn } from '@portcullis/caller/output.ts';
import { countOf } from '@portcullis/core/count.ts';
import { withDatabase } from './database.ts';
import type { DatabaseOptions } from './options.ts';

export interface FleetExportOptions extends Pick<DatabaseOptions, 'data'> {
  readonly out?: string;
  readonly force?: boolean;
}

/** Prints a fleet file of what is there, or writes it to `--out`. */
export async function writeExport({
  out,
  force = false,
  ...options
}: FleetExportOptions): Promise<void> {
  if (out === undefined && force) throw usageError('--force needs --out: give both');
  if (out !== undefined && !force && existsSync(out)) throw isThere(out);
  const path = out ?? 'fleet.yaml';
  const exported = await withDatabase(options, (db) =>
    exportFleet(db, { path, eggs: SHIPPED_EGGS }),
  );
  if (out === undefined) process.stdout.write(exported.text);
  else await write(out, exported.text, force);
  report(exported);
}

function isThere(out: string): Error {
  return failed(`${out} is there already: choose another file, or replace it with --force`);
}

/** Variables of servers may be passwords of a game, so the file is for this account only. */
async function write(out: string, text: string, force: boolean): Promise<void> {
  const part = force ? `${out}.${process.pid}.part` : out;
  try {
    await writeFile(part, text, { mode: 0o600, flag: 'wx' });
    if (force) await rename(part, out);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw isThere(part);
    await rm(part, { force: true });
    throw failed(`${out} cannot be written: ${describePathFailure(error) ?? String(error)}`, error);
  }
}

function report({ left, variables, differences }: ExportedFleet): void {
  if (left.length > 0) {
    warn(
      `${countOf(left.length, 'object')} left out, and not changed by the file: its comments name each and say why`,
    );
  }
  if (variables.length > 0) {
    warn(`set ${variables.join(', ')} before you plan or apply the file: secrets are not in it`);
  }
  if (differences.length === 0) return;
  warn('the file is not all of what is there:');
  for (const difference of differences) warn(difference);
  throw new QuietExit(EXIT.failed);
}
