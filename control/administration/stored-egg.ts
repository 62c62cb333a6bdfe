import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { sql } from 'kysely';
import type { Db, Reader, Tx } from '../db/database.ts';
import type { CurrentGameServer } from '../declared/game-servers.ts';
import type { EggFile } from '../fleet-file/read/egg-files.ts';

/** The egg that a server was made from, which may have left the library since. */
export async function storedEgg(
  db: Db | Reader | Tx,
  { eggDigest: digest }: Pick<CurrentGameServer, 'eggDigest'>,
): Promise<Extract<EggFile, { readonly ok: true }>> {
  const { rows } = await sql<{ egg: Egg }>`select egg from eggs where digest = ${digest}`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`the egg ${digest} of a server is missing`);
  return { ok: true, found: { egg: row.egg, digest, notes: [] } };
}
