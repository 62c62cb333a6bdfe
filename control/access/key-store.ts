import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import type { ApiKey, Organisation, Owner } from '../db/schema.ts';

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

/** Stores a key and returns its id. The unique hash refuses a secret that was ever used. */
export async function insertKey(tx: Tx, key: NewKeyRow): Promise<number> {
  const row = await tx
    .insertInto('api_keys')
    .values({
      organisation_id: key.organisationId,
      name: key.name,
      secret_hash: key.hash,
      hint: key.hint,
      abilities: [...key.abilities],
      servers: key.servers && [...key.servers],
      managed_servers: key.managedServers && [...key.managedServers],
      prefixes: key.prefixes && [...key.prefixes],
      sources: key.sources && [...key.sources],
      expires_at: key.expiresAt,
      owner: key.owner,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

/** Locks and returns the row of an organisation. */
export async function lockOrganisation(tx: Tx, id: number): Promise<Organisation | null> {
  const row = await tx
    .selectFrom('organisations')
    .selectAll()
    .where('id', '=', id)
    .forShare()
    .executeTakeFirst();
  return row ?? null;
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
