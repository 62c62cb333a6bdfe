import { sql } from 'kysely';
import type { ApiKey, Db, Organisation, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';

/** A key with its organisation. */
export interface KeyWithOrganisation {
  readonly key: ApiKey;
  readonly organisation: Organisation;
}

/** The key with this SHA-256, also if revoked or expired. Null if there never was one. */
export async function loadKeyByHash(db: Db, hash: Buffer): Promise<KeyWithOrganisation | null> {
  const key = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('secret_hash', '=', hash)
    .executeTakeFirst();
  if (key === undefined) return null;
  const organisation = await db
    .selectFrom('organisations')
    .selectAll()
    .where('id', '=', key.organisation_id)
    .executeTakeFirstOrThrow();
  return { key, organisation };
}

export interface NewKeyRow {
  readonly organisationId: number;
  readonly name: string;
  readonly hash: Buffer;
  readonly hint: string;
  readonly abilities: readonly string[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
  readonly prefixes: readonly string[] | null;
  readonly sources: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly owner: Owner;
}

/** Stores keys and returns their ids, in order. The unique hash refuses a secret that was ever used. */
export async function insertKeys(tx: Tx, keys: readonly NewKeyRow[]): Promise<number[]> {
  const wanted = keys.map((key) => ({ ...key, hash: key.hash.toString('hex') }));
  const { rows } = await sql<{ id: number }>`
    insert into api_keys (organisation_id, name, secret_hash, hint, abilities, servers, managed_servers,
      prefixes, sources, expires_at, owner)
    select "organisationId", name, decode(hash, 'hex'), hint, abilities, servers, "managedServers",
           prefixes, sources, "expiresAt", owner
      from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as w
        ("organisationId" bigint, name text, hash text, hint text, abilities text[], servers uuid[],
         "managedServers" uuid[], prefixes cidr[], sources cidr[], "expiresAt" timestamptz, owner owner)
    returning id`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Locks rows of organisations and returns their flags by id. */
export async function lockOrganisations(
  tx: Tx,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const { rows } = await sql<{ id: number; flags: string[] }>`
    select id, flags from organisations where id = any(${[...new Set(ids)]}::bigint[])
     order by id for share`.execute(tx);
  return new Map(rows.map(({ id, flags }) => [id, flags]));
}

/** Every key of an organisation, also revoked ones, oldest first. */
export async function loadKeys(db: Db | Tx, organisationId: number): Promise<ApiKey[]> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('id')
    .execute();
}

/** Revokes permanently. Null if there is no such key; otherwise when it was revoked, and whether just now. */
export async function markRevoked(
  tx: Tx,
  keyId: number,
): Promise<{ organisationId: number; name: string; revokedAt: Date; first: boolean } | null> {
  const key = await tx
    .selectFrom('api_keys')
    .select(['organisation_id', 'name', 'revoked_at'])
    .where('id', '=', keyId)
    .forUpdate()
    .executeTakeFirst();
  if (key === undefined) return null;
  const known = { organisationId: key.organisation_id, name: key.name };
  if (key.revoked_at !== null) return { ...known, revokedAt: key.revoked_at, first: false };
  const { revoked_at: revokedAt } = await tx
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', keyId)
    .returning(sql<Date>`revoked_at`.as('revoked_at'))
    .executeTakeFirstOrThrow();
  return { ...known, revokedAt, first: true };
}

/** Advances `last_used_at` of many keys at once; never back, whichever replica writes last. */
export async function storeLastUses(db: Db, uses: ReadonlyMap<number, Date>): Promise<void> {
  await sql`
    update api_keys set last_used_at = greatest(last_used_at, used.at)
      from unnest(${[...uses.keys()]}::bigint[], ${[...uses.values()]}::timestamptz[]) as used(id, at)
     where api_keys.id = used.id`.execute(db);
}

/** Notifies every control process at the commit that keys or organisations changed. */
export async function notifyAccess(tx: Tx): Promise<void> {
  await sql`select pg_notify('portcullis_access', '')`.execute(tx);
}
