import {
  differencesOf,
  type EggDifference,
} from '@portcullis/core/game-servers/egg-library/difference.ts';
import { sql } from 'kysely';
import type { Reader } from '../../db/database.ts';
import type { FoundEgg } from '../../game-servers/index.ts';
import type { EggLibrary } from '../kind.ts';
import { findEgg } from './eggs.ts';

/** The change by another egg in the place of one of the library. */
interface EggChange {
  readonly fields: readonly EggDifference[];
  /** The servers that were made from it. */
  readonly servers: readonly {
    readonly uuid: string;
    readonly name: string;
    readonly organisation: string;
    /** It has the new egg already. */
    readonly current: boolean;
  }[];
}

/** Compares an egg with the one that the library has by this name. Null: it has none. */
export async function compareEgg(
  db: Reader,
  name: string,
  { egg, digest }: FoundEgg,
  library: EggLibrary,
): Promise<EggChange | null> {
  const before = await findEgg(db, library, name);
  if (!before.ok) return null;
  const { rows } = await sql<EggChange['servers'][number]>`
    select uuid, s.name, o.slug as organisation, egg_digest = ${digest} as current
      from game_servers s join organisations o on o.id = s.organisation_id
     where egg_name = ${name} order by o.slug, s.name, uuid`.execute(db);
  return { fields: differencesOf(before.found.egg, egg), servers: rows };
}
