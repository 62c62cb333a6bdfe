import {
  type AppliedFleet,
  type ApplyOptions,
  applyFleet,
  FleetRefused,
  PlanChanged,
} from '@portcullis/control/operator/fleet-file/apply/apply.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { FleetFile } from '@portcullis/control/operator/fleet-file/desired.ts';
import { renderMistake } from '@portcullis/control/operator/fleet-file/mistakes.ts';
import { SHIPPED_EGGS } from '@portcullis/control/operator/fleet-file/read/egg-files.ts';
import { readFleetFile } from '@portcullis/control/operator/fleet-file/read/read.ts';
import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import { failed } from '@portcullis/caller/exit.ts';
import { commandLine } from './installation/command-line.ts';

/** The name in a fleet file of the example egg, which runs without Docker. */
export const EXAMPLE_EGG_NAME = 'eggs/hearth.json';

/** Reads a fleet file, or throws every mistake in it as `file:line:column: message`. */
export async function readFleet(path: string): Promise<FleetFile> {
  await requireReadable(path);
  const read = await readFleetFile(path, process.env, { eggs: SHIPPED_EGGS });
  if (read.ok && isEmpty(read.value))
    throw failed(
      `${path} names nothing. Applied, it would end everything that an earlier file made, so it is refused; check that it is the file you mean`,
    );
  if (read.ok) return read.value;
  throw failed(
    `${path} has mistakes, and nothing was changed:\n${read.mistakes.map(renderMistake).join('\n')}`,
  );
}

function isEmpty(file: FleetFile): boolean {
  const { path: _, objects, ...others } = file;
  return [...Object.values(objects), ...Object.values(others)].every(({ length }) => length === 0);
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
};

/** Reports a missing or unreadable file as such, not as mistakes in its content. */
async function requireReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw failed(`${path} cannot be read: ${UNREADABLE[code] ?? code}`, error);
  }
}

/** Applies a fleet file that was read, in one transaction. `dataDir`: of the installation, for the command that forces it. */
export async function applyFleetFile(
  db: Db,
  file: FleetFile,
  { dataDir, ...options }: Omit<ApplyOptions, 'actor'> & { readonly dataDir: string },
): Promise<AppliedFleet> {
  const actor = { kind: 'fleet', name: resolve(file.path), source: null, requestId: null } as const;
  try {
    return await applyFleet(db, file, { ...options, actor });
  } catch (error) {
    if (error instanceof FleetRefused) {
      if (error.plan.mistakes.length > 0) throw failed(error.message);
      const force = commandLine(['fleet', 'apply', file.path, '--force'], { dataDir });
      throw failed(`${error.message}\nTo apply it all the same: ${force}`);
    }
    if (error instanceof PlanChanged)
      throw failed('the fleet was changed meanwhile, so nothing was applied: try again');
    throw error;
  }
}
