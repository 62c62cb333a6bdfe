import { sql } from 'kysely';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Db, Tx } from '../../db/database.ts';

/** Detection and mitigation settings by id; scopes without settings are left out. */
export interface CurrentDetection {
  readonly organisations: ReadonlyMap<number, ScopeSettings>;
  readonly services: ReadonlyMap<number, ScopeSettings>;
  readonly holdings: ReadonlyMap<number, ScopeSettings>;
}

export async function loadDetection(db: Db | Tx): Promise<CurrentDetection> {
  const of = async (table: 'organisations' | 'services' | 'holdings') => {
    const { rows } = await sql<{ id: number; detection: Partial<ScopeSettings> }>`
      select id, detection from ${sql.table(table)} where detection <> '{}' order by id`.execute(
      db,
    );
    return new Map(rows.map(({ id, detection }) => [id, { ...NOTHING_SET, ...detection }]));
  };
  return {
    organisations: await of('organisations'),
    services: await of('services'),
    holdings: await of('holdings'),
  };
}
