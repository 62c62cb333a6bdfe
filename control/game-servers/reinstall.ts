import { sql } from 'kysely';
import type { EmptyFiles } from '@portcullis/core/game-servers/power.ts';
import { type Actor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';

/** The end of the files that a server has when it is installed again. */
export type FilesBefore = 'keep' | EmptyFiles;

/**
 * Requests a new installation of a server by its node: after a failed build or a changed egg. Files that are kept stay as
 * far as the egg's install keeps them. Until it is built it cannot be started. Returns the epoch of the build; null if there
 * is no such server.
 */
export async function reinstallServer(
  tx: Tx,
  uuid: string,
  actor: Actor,
  files: FilesBefore = 'keep',
): Promise<number | null> {
  const { rows } = await sql<{ organisationId: number; epoch: number }>`
    update game_servers set build_epoch = build_epoch + 1, build_state = 'waiting', build_reason = null,
           build_log = null, identifier = null, empty_files = ${files === 'keep' ? null : files}
     where uuid = ${uuid} returning organisation_id as "organisationId", build_epoch as epoch`.execute(
    tx,
  );
  const row = rows[0];
  if (row === undefined) return null;
  await recordAudit(tx, {
    actor,
    organisationId: row.organisationId,
    action: 'server.reinstall',
    target: `server:${uuid}`,
    detail: { epoch: row.epoch, files },
  });
  return row.epoch;
}
