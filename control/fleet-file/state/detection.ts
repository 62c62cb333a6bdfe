import { sql } from 'kysely';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { CollectorExporter, Owner } from '../../db/schema.ts';
import type { ResponderSpec } from '../../db/schema.ts';

/** Detection and mitigation settings by id; scopes without settings are left out. */
export interface CurrentDetection {
  readonly organisations: ReadonlyMap<number, ScopeSettings>;
  readonly services: ReadonlyMap<number, ScopeSettings>;
  readonly holdings: ReadonlyMap<number, ScopeSettings>;
}

export interface CurrentCollector {
  readonly id: number;
  readonly name: string;
  readonly listen: string;
  readonly exporters: readonly CollectorExporter[];
  readonly site: string | null;
  readonly owner: Owner;
}

export interface CurrentResponder {
  readonly id: number;
  readonly name: string;
  readonly spec: ResponderSpec;
  readonly owner: Owner;
}

export async function loadResponders(db: Db | Tx): Promise<CurrentResponder[]> {
  const { rows } = await sql<CurrentResponder>`
    select id, name, spec, owner from responders order by name`.execute(db);
  return rows;
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

export async function loadCollectors(db: Db | Tx): Promise<CurrentCollector[]> {
  const { rows } = await sql<CurrentCollector>`
    select id, name, listen, exporters, site, owner from collectors order by name`.execute(db);
  return rows;
}
