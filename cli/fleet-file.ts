import { env } from 'node:process';
import {
  type AppliedFleet,
  applyFleet,
  FleetRefused,
} from '@portcullis/control/fleet/file/apply.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { FleetFile } from '@portcullis/control/fleet/file/desired.ts';
import { renderMistake } from '@portcullis/control/fleet/file/mistakes.ts';
import { readFleetFile } from '@portcullis/control/fleet/file/read.ts';
import { resolve } from 'node:path';
import { failed } from './exit.ts';

/** Reads a fleet file, or throws every mistake in it as `file:line:column: message`. */
export async function readFleet(path: string): Promise<FleetFile> {
  const read = await readFleetFile(path, env);
  if (read.ok) return read.value;
  throw failed(
    `${path} has mistakes, and nothing was changed:\n${read.mistakes.map(renderMistake).join('\n')}`,
  );
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
