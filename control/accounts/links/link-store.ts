import type { Role } from '@portcullis/contract/endpoint.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Ability } from '@portcullis/core/access/abilities.ts';
import type { ServerRight } from '@portcullis/core/access/server-rights.ts';
import { type Actor, hashToken, recordAudit, recordAudits, rightsOn } from '../../access/index.ts';
import type { Reader, Tx } from '../../db/database.ts';
import { decidesAbout, decidesAboutRights } from '../roles.ts';
import { newToken } from '../session-store.ts';

/** An unused link that its maker could make now. */
export interface LinkRow {
  readonly id: number;
  readonly kind: 'operator' | 'invitation' | 'reset';
  readonly email: string | null;
  readonly organisation_id: number | null;
  readonly organisation_slug: string | null;
  readonly organisation: string | null;
  readonly role: Role | null;
  readonly person_id: number | null;
  /** The one server that it is an invitation to, with its name and the rights; null for other links. */
  readonly server: string | null;
  readonly server_name: string | null;
  readonly rights: readonly ServerRight[] | null;
  readonly created_by: string;
  readonly expires_at: Date;
  /** The person; null for a key, and for the command line on the database. */
  readonly maker_id: number | null;
}

interface StoredLink extends LinkRow {
  readonly mailed_hash: Buffer | null;
  readonly maker_is_operator: boolean | null;
  readonly maker_is_disabled: boolean | null;
  /** In the organisation of the link. */
  readonly maker_role: Role | null;
  /** To the server of the link, beside those of the role. */
  readonly maker_rights: readonly ServerRight[] | null;
  readonly maker_key: MakerKey | null;
}

/** The key that made a link, as it is now. */
interface MakerKey {
  readonly abilities: readonly Ability[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
  /** Neither revoked, nor suspended, nor expired, and of the organisation of the server. */
  readonly isGood: boolean;
}

/** A link that somebody presents. */
export interface PresentedLink extends LinkRow {
  /**
   * Whether to accept it proves that the person has the address: it was mailed there and shown to nobody else, or an
   * operator gives its word.
   */
  readonly proves: boolean;
}

export interface NewLink {
  readonly kind: LinkRow['kind'];
  readonly email: string | null;
  readonly organisationId?: number;
  readonly role?: Role;
  readonly personId?: number;
  readonly server?: string;
  readonly rights?: readonly ServerRight[];
}

/** How a link is made. */
export interface Making {
  readonly actor: Actor;
  /** The person; null with no key either: the command line on the database, which could always make it. */
  readonly makerId: number | null;
  readonly makerKeyId?: number | null;
  readonly publicUrl: string;
  /** Makes a second token for the mail, which whoever made the link does not get. */
  readonly isMailed?: boolean;
}

export interface MadeLink {
  readonly url: string;
  /** For the mail; null if it is not mailed. */
  readonly mailedUrl: string | null;
  readonly expiresAt: Date;
}

const VALID_HOURS = { operator: 24, invitation: 7 * 24, reset: 24 } as const;

/**
 * Stores a link that works once, and returns its URL. The token follows `#`, so that no server, proxy or Referer
 * header sees it. It replaces an unused one of the same maker for the same: an administrator withdraws no owner's.
 */
export async function createLink(
  tx: Tx,
  { kind, email, organisationId, role, personId, server, rights }: NewLink,
  { actor, makerId, makerKeyId = null, publicUrl, isMailed = false }: Making,
): Promise<MadeLink> {
  const token = newToken();
  const mailed = isMailed ? newToken() : null;
  await sql`
    delete from portal_links
     where expires_at < now() - interval '30 days'
        or (used_at is null and kind = ${kind} and email is not distinct from ${email}
            and organisation_id is not distinct from ${organisationId ?? null}
            and server is not distinct from ${server ?? null}
            and maker_id is not distinct from ${makerId} and maker_key is not distinct from ${makerKeyId})`.execute(
    tx,
  );
  const { rows } = await sql<{ id: number; expires_at: Date }>`
    insert into portal_links (token_hash, mailed_hash, kind, email, organisation_id, role, person_id, created_by,
                              maker_id, maker_key, server, rights, expires_at)
    values (${hashToken(token)}, ${mailed && hashToken(mailed)}, ${kind}, ${email}, ${organisationId ?? null},
            ${role ?? null}, ${personId ?? null}, ${actor.name}, ${makerId}, ${makerKeyId}, ${server ?? null},
            ${rights ?? null}::text[],
            now() + ${VALID_HOURS[kind]} * interval '1 hour')
    returning id, expires_at`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('an insert returned no row');
  await recordAudit(tx, {
    actor,
    organisationId: organisationId ?? null,
    action: `link.create`,
    target: `link:${row.id}`,
    detail: {
      kind,
      email,
      ...(role !== undefined && { role }),
      ...(server !== undefined && { server, rights }),
    },
  });
  const urlOf = (secret: string): string => `${publicUrl}/link#${secret}`;
  return {
    url: urlOf(token),
    mailedUrl: mailed === null ? null : urlOf(mailed),
    expiresAt: row.expires_at,
  };
}

/**
 * Unused links that have not expired, each with what its maker may do now. All reading of links is here: `couldMake`
 * says which of them are good.
 */
async function loadLinks(
  db: Reader,
  condition: RawBuilder<unknown>,
  lock: RawBuilder<unknown> = sql``,
): Promise<StoredLink[]> {
  const { rows } = await sql<StoredLink>`
    select l.id, l.kind, coalesce(p.email, l.email) as email, o.id as organisation_id, o.slug as organisation_slug,
           o.name as organisation, l.role, l.person_id, l.server, g.name as server_name, l.rights, l.created_by,
           l.expires_at, l.mailed_hash, l.maker_id, maker.is_operator as maker_is_operator,
           maker.disabled_at is not null as maker_is_disabled, m.role as maker_role, sp.rights as maker_rights,
           case when k.id is not null then json_build_object('abilities', k.abilities, 'servers', k.servers,
             'managedServers', k.managed_servers, 'isGood', k.revoked_at is null and k.suspended_at is null
               and (k.expires_at is null or k.expires_at > now()) and k.organisation_id = g.organisation_id)
           end as maker_key
      from portal_links l
      left join game_servers g on g.uuid = l.server
      left join organisations o on o.id = coalesce(l.organisation_id, g.organisation_id)
      left join api_keys k on k.id = l.maker_key
      left join server_people sp on sp.server = l.server and sp.person_id = l.maker_id
      left join people p on p.id = l.person_id
      left join people maker on maker.id = l.maker_id
      left join members m on m.person_id = l.maker_id and m.organisation_id = o.id
     where l.used_at is null and l.expires_at > now() and ${condition}
     order by l.expires_at, l.id ${lock}`.execute(db);
  return rows;
}

/** Whether the maker of a link could make it now. */
function couldMake(link: StoredLink): boolean {
  if (link.maker_key !== null) return link.maker_key.isGood && mayInvite(link);
  if (link.maker_id === null) return true;
  if (link.maker_is_disabled === true) return false;
  if (link.maker_is_operator === true) return true;
  if (link.server !== null) return mayInvite(link);
  return (
    link.kind === 'invitation' && link.role !== null && decidesAbout(link.maker_role, link.role)
  );
}

/** Whether the maker of an invitation to a server may invite there now, and has each of its rights. */
function mayInvite(link: StoredLink): boolean {
  const { server, rights, maker_role: role, maker_rights: own, maker_key: key } = link;
  if (server === null || rights === null) return false;
  const serverRights = new Map([[server, new Set(own ?? [])]]);
  const maker =
    key === null
      ? role === null
        ? ({ kind: 'guest', serverRights } as const)
        : ({ kind: 'member', role, serverRights } as const)
      : ({ kind: 'key', ...key, abilities: new Set(key.abilities) } as const);
  return decidesAboutRights(rightsOn(maker, server), 'user.create', rights);
}

/** The link of a token, if it can be used now; `lock` for the one that uses it. */
export async function findLink(
  db: Reader,
  token: string,
  lock = false,
): Promise<PresentedLink | null> {
  const hash = hashToken(token);
  const [link] = await loadLinks(
    db,
    sql`(l.token_hash = ${hash} or l.mailed_hash = ${hash})`,
    lock ? sql`for update of l` : sql``,
  );
  if (link === undefined || !couldMake(link)) return null;
  const isMailed = link.mailed_hash?.equals(hash) ?? false;
  const isOperators = link.maker_id === null || link.maker_is_operator === true;
  return { ...link, proves: isMailed || isOperators };
}

/** Lists good links, of one organisation or of all, the next to expire first. Their tokens are not stored. */
export async function listOpenLinks(
  db: Reader,
  organisationId: number | null = null,
): Promise<LinkRow[]> {
  const condition =
    organisationId === null ? sql`true` : sql`l.organisation_id = ${organisationId}`;
  return (await loadLinks(db, condition)).filter(couldMake);
}

/** Lists good invitations to a server, the next to expire first. */
export async function listServerLinks(db: Reader, server: string): Promise<LinkRow[]> {
  return (await loadLinks(db, sql`l.server = ${server}`)).filter(couldMake);
}

/** Deletes an unused invitation to a server; null when there is none. */
export async function withdrawServerLink(
  tx: Tx,
  id: number,
  server: string,
): Promise<{ readonly email: string | null } | null> {
  const { rows } = await sql<{ email: string | null }>`
    delete from portal_links
     where id = ${id} and used_at is null and server = ${server} returning email`.execute(tx);
  return rows[0] ?? null;
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

/** Deletes the links by which somebody could choose a person's password. */
export async function withdrawResets(tx: Tx, personId: number): Promise<void> {
  await sql`
    delete from portal_links where person_id = ${personId} and used_at is null`.execute(tx);
}

/** Deletes the links of a person that it could not make any more, as a change of its rights does. */
export async function voidLinksOf(tx: Tx, makerId: number, actor: Actor): Promise<void> {
  const links = await loadLinks(tx, sql`l.maker_id = ${makerId}`, sql`for update of l`);
  await voidLinks(
    tx,
    links.filter((link) => !couldMake(link)),
    actor,
  );
}

/** Deletes the links that a person made, and those by which somebody could choose its password. */
export async function voidAllLinksOf(tx: Tx, personId: number, actor: Actor): Promise<void> {
  const condition = sql`(l.maker_id = ${personId} or l.person_id = ${personId})`;
  await voidLinks(tx, await loadLinks(tx, condition, sql`for update of l`), actor);
}

async function voidLinks(tx: Tx, links: readonly LinkRow[], actor: Actor): Promise<void> {
  if (links.length === 0) return;
  await sql`
    delete from portal_links where id = any(${links.map(({ id }) => id)}::bigint[])`.execute(tx);
  const entries = links.map(({ id, kind, email, role, organisation_id: organisationId }) => ({
    organisationId,
    action: 'link.void',
    target: `link:${id}`,
    detail: { kind, email, role },
  }));
  await recordAudits(tx, actor, entries);
}

/**
 * A link for the first operator, or for another one; `portcullis portal link` and the first start print it.
 * `organisationId`: the operator will own this organisation too.
 */
export function createOperatorLink(
  tx: Tx,
  how: Omit<Making, 'makerId'> & { readonly organisationId?: number | null },
): Promise<MadeLink> {
  const { organisationId = null } = how;
  const owned = organisationId === null ? {} : ({ organisationId, role: 'owner' } as const);
  return createLink(tx, { kind: 'operator', email: null, ...owned }, { ...how, makerId: null });
}

/** For a new password; the person signs in with it. `portcullis portal reset` prints it. */
export async function createReset(
  tx: Tx,
  person: { readonly id: number; readonly email: string },
  how: Omit<Making, 'makerId'>,
): Promise<MadeLink> {
  const link = { kind: 'reset', email: person.email, personId: person.id } as const;
  return createLink(tx, link, { ...how, makerId: null });
}

/** `there`: an operator exists. `unused`: a link was made for one. */
export async function findFirstOperator(db: Reader): Promise<'there' | 'unused' | 'none'> {
  const { rows } = await sql<{ there: boolean; unused: boolean }>`
    select exists (select from people where is_operator) as there,
           exists (select from portal_links where kind = 'operator') as unused`.execute(db);
  if (rows[0]?.there === true) return 'there';
  return rows[0]?.unused === true ? 'unused' : 'none';
}
