import type { Role } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import { type Actor, hashToken, recordAudit } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { newToken } from './session-store.ts';

export interface LinkRow {
  readonly id: number;
  readonly kind: 'operator' | 'invitation' | 'reset';
  readonly email: string | null;
  readonly organisation_id: number | null;
  readonly organisation: string | null;
  readonly role: Role | null;
  readonly person_id: number | null;
  readonly expires_at: Date;
}

export interface NewLink {
  readonly kind: LinkRow['kind'];
  readonly email: string | null;
  readonly organisationId?: number;
  readonly role?: Role;
  readonly personId?: number;
}

const VALID_HOURS = { operator: 24, invitation: 7 * 24, reset: 24 } as const;

/**
 * Stores a link that works once, and returns its URL. The token follows `#`, so that no server, proxy or Referer
 * header sees it. It replaces an unused one for the same.
 */
export async function createLink(
  tx: Tx,
  { kind, email, organisationId, role, personId }: NewLink,
  { actor, publicUrl }: { readonly actor: Actor; readonly publicUrl: string },
): Promise<{ url: string; expiresAt: Date }> {
  const token = newToken();
  await sql`
    delete from portal_links
     where expires_at < now() - interval '30 days'
        or (used_at is null and kind = ${kind} and email is not distinct from ${email}
            and organisation_id is not distinct from ${organisationId ?? null})`.execute(tx);
  const { rows } = await sql<{ id: number; expires_at: Date }>`
    insert into portal_links (token_hash, kind, email, organisation_id, role, person_id, created_by, expires_at)
    values (${hashToken(token)}, ${kind}, ${email}, ${organisationId ?? null}, ${role ?? null}, ${personId ?? null},
            ${actor.name}, now() + ${VALID_HOURS[kind]} * interval '1 hour')
    returning id, expires_at`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('an insert returned no row');
  await recordAudit(tx, {
    actor,
    organisationId: organisationId ?? null,
    action: `link.create`,
    target: `link:${row.id}`,
    detail: { kind, email, ...(role !== undefined && { role }) },
  });
  return { url: `${publicUrl}/link#${token}`, expiresAt: row.expires_at };
}

/** The link of a token, if it can be used now; `lock` for the one that uses it. */
export async function findLink(db: Db | Tx, token: string, lock = false): Promise<LinkRow | null> {
  const { rows } = await sql<LinkRow>`
    select l.id, l.kind, coalesce(p.email, l.email) as email, l.organisation_id, o.name as organisation, l.role,
           l.person_id, l.expires_at
      from portal_links l
      left join organisations o on o.id = l.organisation_id
      left join people p on p.id = l.person_id
     where l.token_hash = ${hashToken(token)} and l.used_at is null and l.expires_at > now()
     ${lock ? sql`for update of l` : sql``}`.execute(db);
  return rows[0] ?? null;
}

/** Lists unused links of all organisations that have not expired. Their tokens are not stored. */
export async function listOpenLinks(db: Db): Promise<object[]> {
  const { rows } = await sql<object>`
    select l.id, l.kind, coalesce(p.email, l.email) as email, o.slug as organisation, l.role, l.created_by,
           to_json(l.expires_at) as expires_at
      from portal_links l
      left join organisations o on o.id = l.organisation_id
      left join people p on p.id = l.person_id
     where l.used_at is null and l.expires_at > now()
     order by l.expires_at, l.id`.execute(db);
  return rows;
}

/** Deletes an unused link, of one organisation if it is given. Returns null when there is none. */
export async function withdrawLink(
  tx: Tx,
  id: number,
  organisationId: number | null = null,
): Promise<Pick<LinkRow, 'kind' | 'email' | 'role' | 'organisation_id'> | null> {
  const { rows } = await sql<Pick<LinkRow, 'kind' | 'email' | 'role' | 'organisation_id'>>`
    delete from portal_links
     where id = ${id} and used_at is null
       and (${organisationId}::bigint is null or organisation_id = ${organisationId}::bigint)
    returning kind, email, role, organisation_id`.execute(tx);
  return rows[0] ?? null;
}

/**
 * A link for the first operator, or for another one; `portcullis portal link` and the first start print it.
 * `organisationId`: the operator will own this organisation too.
 */
export function createOperatorLink(
  tx: Tx,
  how: {
    readonly actor: Actor;
    readonly publicUrl: string;
    readonly organisationId?: number | null;
  },
): Promise<{ url: string; expiresAt: Date }> {
  const { organisationId = null } = how;
  const owned = organisationId === null ? {} : ({ organisationId, role: 'owner' } as const);
  return createLink(tx, { kind: 'operator', email: null, ...owned }, how);
}

/** For a new password; the person signs in with it. */
export async function createReset(
  tx: Tx,
  person: { readonly id: number; readonly email: string },
  how: { readonly actor: Actor; readonly publicUrl: string },
): Promise<{ url: string; expiresAt: Date }> {
  return createLink(tx, { kind: 'reset', email: person.email, personId: person.id }, how);
}

/** `there`: an operator exists. `unused`: a link was made for one. */
export async function findFirstOperator(db: Db | Tx): Promise<'there' | 'unused' | 'none'> {
  const { rows } = await sql<{ there: boolean; unused: boolean }>`
    select exists (select from people where is_operator) as there,
           exists (select from portal_links where kind = 'operator') as unused`.execute(db);
  if (rows[0]?.there === true) return 'there';
  return rows[0]?.unused === true ? 'unused' : 'none';
}
