import { env } from 'node:process';
import {
  type AppliedFleet,
  applyFleet,
  FleetRefused,
} from '@portcullis/control/fleet-file/apply/apply.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { FleetFile } from '@portcullis/control/fleet-file/desired.ts';
import { renderMistake } from '@portcullis/control/fleet-file/mistakes.ts';
import { readFleetFile } from '@portcullis/control/fleet-file/read/read.ts';
import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import { failed } from './exit.ts';
import { SHIPPED_EGGS } from './shipped-eggs.ts';

/** Reads a fleet file, or throws every mistake in it as `file:line:column: message`. */
export async function readFleet(path: string): Promise<FleetFile> {
  await requireReadable(path);
  const read = await readFleetFile(path, env, SHIPPED_EGGS);
  if (read.ok) return read.value;
  throw failed(
    `${path} has mistakes, and nothing was changed:\n${read.mistakes.map(renderMistake).join('\n')}`,
  );
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
};

/** A path that leads nowhere is no mistake in a file. */
async function requireReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw failed(`${path} cannot be read: ${UNREADABLE[code] ?? code}`, error);
  }
}

/** Applies a file, whole or not at all. */
export async function applyFleetFile(
  db: Db,
  path: string,
  allowOrphans: boolean,
): Promise<AppliedFleet> {
  const file = await readFleet(path);
  const actor = { kind: 'fleet', name: resolve(path), source: null, requestId: null } as const;
  try {
    return await applyFleet(db, file, { allowOrphans, actor });
  } catch (error) {
    if (error instanceof FleetRefused) throw failed(error.message);
    throw error;
  }
}
