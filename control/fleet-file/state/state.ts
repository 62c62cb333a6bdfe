import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import {
  type DeclaredObjects,
  type Elsewhere,
  loadElsewhere,
  loadNow,
  loadObjects,
  type StoredObjects,
} from '../../operator/index.ts';

/** The database's rows of everything that a fleet file can name, including those of the portal. */
export interface FleetState {
  /** The time of the plan. */
  readonly now: Date;
  /** The objects of every kind of `control/operator`. */
  readonly objects: StoredObjects;
  /** Losses of others by saving the objects of the file. */
  readonly elsewhere: Elsewhere;
  readonly keys: readonly CurrentKey[];
}

export interface CurrentKey {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  /** Hexadecimal. */
  readonly hash: string;
  readonly abilities: readonly string[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
  readonly prefixes: readonly string[] | null;
  readonly sources: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly revoked: boolean;
  /** It left the file, and comes back with it. */
  readonly suspended: boolean;
  readonly owner: Owner;
}
/** `declared`: the objects of the file. */
export async function loadFleetState(
  db: Db | Tx,
  declared: DeclaredObjects<unknown>,
): Promise<FleetState> {
  return {
    now: await loadNow(db),
    objects: await loadObjects(db),
    elsewhere: await loadElsewhere(db, declared),
    keys: await loadKeys(db),
  };
}

async function rowsOf<T>(query: ReturnType<typeof sql<T>>, db: Db | Tx): Promise<T[]> {
  return (await query.execute(db)).rows;
}

async function loadKeys(db: Db | Tx): Promise<CurrentKey[]> {
  return rowsOf(
    sql<CurrentKey>`
      select id, organisation_id as "organisationId", name, encode(secret_hash, 'hex') as hash,
             abilities, servers::text[] as servers,
             managed_servers::text[] as "managedServers", prefixes::text[] as prefixes,
             sources::text[] as sources, expires_at as "expiresAt",
             revoked_at is not null as revoked, suspended_at is not null as suspended, owner
        from api_keys order by id`,
    db,
  );
}
