import { type EggAbout, NO_ABOUT } from '@portcullis/core/game-servers/egg-library/about.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { sql } from 'kysely';
import type { Db, Reader, Tx } from '../db/database.ts';

/** An egg that was loaded. */
export interface FoundEgg extends EggAbout {
  readonly egg: Egg;
  /** SHA-256 of its canonical JSON, in hexadecimal. */
  readonly digest: string;
  /** Sentences about parts of it that are ignored. */
  readonly notes: readonly string[];
}

export type EggFile =
  | { readonly ok: true; readonly found: FoundEgg }
  /** `reason` is a sentence. */
  | { readonly ok: false; readonly reason: string };

/** The egg that a server was made from, which may have left the library since. Null if none is stored. */
export async function loadStoredEgg(
  db: Db | Reader | Tx,
  digest: string,
): Promise<FoundEgg | null> {
  const { rows } = await sql<{ egg: Egg }>`select egg from eggs where digest = ${digest}`.execute(
    db,
  );
  const [row] = rows;
  return row === undefined ? null : { egg: whole(row.egg), digest, notes: [], ...NO_ABOUT };
}

/** Completes an egg that an earlier version stored, which kept nothing for the people of a server. */
function whole(egg: Egg): Egg {
  const variables = egg.variables.map((variable) => ({ ...NOT_FOR_PEOPLE, ...variable }));
  return { ...egg, variables };
}

const NOT_FOR_PEOPLE = { description: '', viewable: false, editable: false } as const;

/** Stores eggs, each once for all servers. */
export async function saveEggs(tx: Tx, eggs: readonly FoundEgg[]): Promise<void> {
  const rows = eggs.map(({ digest, egg }) => ({ digest, egg }));
  await sql`
    insert into eggs (digest, egg)
    select distinct on (digest) digest, egg
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (digest text, egg jsonb)
        on conflict do nothing`.execute(tx);
}

/** Deletes eggs that no server uses, and none that was deleted and can be restored. */
export async function sweepEggs(tx: Tx): Promise<void> {
  await sql`
    delete from eggs where not exists (select from game_servers where egg_digest = eggs.digest)
       and not exists (select from deleted_servers where declared ->> 'egg_digest' = eggs.digest)`.execute(
    tx,
  );
}
