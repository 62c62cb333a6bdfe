import { KEY_PREFIX } from '@portcullis/core/access/key-format.ts';
import { sql } from 'kysely';
import type { ApiKey, Db, Organisation, Tx } from '../db/database.ts';
import { lockRows } from '../db/locks.ts';
import type { Owner } from '../db/schema.ts';

/** A key with its organisation. */
export interface KeyWithOrganisation {
  readonly key: ApiKey;
  /** Null: a key of the operator. */
  readonly organisation: Organisation | null;
}

/** The key with this SHA-256, also if revoked or expired. Null if there never was one. */
export async function loadKeyByHash(
  db: Db | Tx,
  hash: Buffer,
): Promise<KeyWithOrganisation | null> {
  const row = await db
    .selectFrom('api_keys as k')
    .leftJoin('organisations as o', 'o.id', 'k.organisation_id')
    .selectAll('k')
    .select(
      sql<Organisation | null>`case when o.id is not null then to_jsonb(o) end`.as('organisation'),
    )
    .where('k.secret_hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { organisation, ...key } = row;
  return { key, organisation };
}

export interface NewKey {
  /** Null: a key of the operator. */
  readonly organisationId: number | null;
  readonly name: string;
  readonly abilities: readonly string[];
  /** Uuids of visible servers; null or absent: all of the organisation. */
  readonly servers?: readonly string[] | null;
  /** Uuids of servers that it may instruct; null or absent: all that it sees. */
  readonly managedServers?: readonly string[] | null;
  /** CIDRs that the key is bound to; null or absent: all holdings. */
  readonly prefixes?: readonly string[] | null;
  /** CIDRs that it may be used from; null or absent: anywhere. */
  readonly sources?: readonly string[] | null;
  readonly expiresAt?: Date | null;
  /** A given secret (`portcullis keys generate`); absent: a new one is generated. */
  readonly secret?: string;
  readonly owner: Owner;
}

/** A row as stored: every field is given, and the secret is its hash. */
export type NewKeyRow = Required<Omit<NewKey, 'secret'>> & {
  readonly hash: Buffer;
  readonly hint: string;
};

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

/** A row as it will be; null: it keeps its secret. */
export type KeyChange = Omit<NewKeyRow, 'hash' | 'hint'> & {
  readonly id: number;
  readonly hash: Buffer | null;
  readonly hint: string | null;
};

/** Changes keys that are not revoked, and ends that they are suspended. */
export async function updateKeys(tx: Tx, changes: readonly KeyChange[]): Promise<void> {
  const wanted = changes.map((key) => ({ ...key, hash: key.hash?.toString('hex') ?? null }));
  await sql`
    update api_keys k
       set name = w.name, abilities = w.abilities, servers = w.servers, managed_servers = w."managedServers",
           prefixes = w.prefixes, sources = w.sources, expires_at = w."expiresAt", suspended_at = null,
           secret_hash = coalesce(decode(w.hash, 'hex'), k.secret_hash), hint = coalesce(w.hint, k.hint)
      from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as w
        (id bigint, name text, hash text, hint text, abilities text[], servers uuid[],
         "managedServers" uuid[], prefixes cidr[], sources cidr[], "expiresAt" timestamptz)
     where k.id = w.id and k.revoked_at is null`.execute(tx);
}

/** Keys that left the fleet file are refused until it names them again; their rows and secrets stay. */
export async function suspendKeys(tx: Tx, ids: readonly number[]): Promise<void> {
  await sql`
    update api_keys set suspended_at = clock_timestamp() where id = any(${ids}::bigint[])`.execute(
    tx,
  );
}

/** Revokes keys for good, for a writer that audits and notifies by itself. */
export async function revokeKeys(tx: Tx, ids: readonly number[]): Promise<void> {
  await sql`
    update api_keys set revoked_at = clock_timestamp()
     where id = any(${ids}::bigint[]) and revoked_at is null`.execute(tx);
}

/**
 * Hands keys that were made by hand to the fleet file, which has one of a name: the oldest of several, and none beside one
 * that it has already. `names`: `acme ci`.
 */
export async function adoptKeys(tx: Tx, names: readonly string[]): Promise<void> {
  await sql`
    update api_keys set owner = 'fleet'
     where id in (
       select min(k.id) from api_keys k join organisations o on o.id = k.organisation_id
        where k.owner = 'portal' and k.revoked_at is null and o.slug || ' ' || k.name = any(${names}::text[])
          and not exists (select from api_keys f where f.owner = 'fleet' and f.name = k.name
                                                   and f.organisation_id = k.organisation_id)
        group by k.organisation_id, k.name)`.execute(tx);
}

/** Locks rows of organisations and returns their flags by id. */
export async function lockOrganisations(
  tx: Tx,
  ids: readonly (number | null)[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  await lockRows(tx, 'organisations', wanted, 'share');
  const { rows } = await sql<{ id: number; flags: string[] }>`
    select id, flags from organisations where id = any(${wanted}::bigint[])`.execute(tx);
  return new Map(rows.map(({ id, flags }) => [id, flags]));
}

/** A key without its secret. */
export interface KeyView {
  readonly id: number;
  readonly name: string;
  /** `pcl_` and the first characters, to identify the key. */
  readonly hint: string;
  readonly abilities: readonly string[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
  readonly prefixes: readonly string[] | null;
  readonly sources: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** When it left the fleet file, with which it comes back. */
  readonly suspendedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  readonly owner: Owner;
}

/** Every key of an organisation, or with null of the operator, also revoked ones, oldest first. */
export async function listKeys(db: Db | Tx, organisationId: number | null): Promise<KeyView[]> {
  const { rows } = await sql<KeyView>`
    select id, name, ${KEY_PREFIX} || hint as hint, abilities, servers, managed_servers as "managedServers", prefixes,
           sources, expires_at as "expiresAt", revoked_at as "revokedAt", suspended_at as "suspendedAt",
           last_used_at as "lastUsedAt", created_at as "createdAt", owner
      from api_keys where organisation_id is not distinct from ${organisationId}::bigint order by id`.execute(
    db,
  );
  return rows;
}

/** Revokes permanently. Null if there is no such key; otherwise when it was revoked, and whether just now. */
export async function markRevoked(
  tx: Tx,
  keyId: number,
): Promise<{
  organisationId: number | null;
  name: string;
  revokedAt: Date;
  first: boolean;
} | null> {
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
