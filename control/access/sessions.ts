import { hash } from 'node:crypto';
import type { Role } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import type { Db, Organisation, Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';
import { unauthenticated } from './authenticate.ts';
import {
  abilitiesOfRights,
  isServerRight,
  rightsOfRole,
} from '@portcullis/core/access/server-rights.ts';
import type { Guest, Member, Person, ServerRights, Session } from './caller.ts';
import { toOrganisationView } from './organisation-store.ts';
import type { Ability } from '@portcullis/core/access/abilities.ts';

const READ: readonly Ability[] = ['firewall.read', 'attacks.read'];
const MANAGE: readonly Ability[] = [...READ, 'firewall.manage'];
/** Servers are made by owners only: they spend the quota of the organisation. */
const OWN: readonly Ability[] = [...MANAGE, 'game-servers.create'];

/** The abilities of a role in the interfaces for keys; rows of the portal name roles themselves. */
const ROLE_ABILITIES: Readonly<Record<Role, ReadonlySet<Ability>>> = {
  'read-only': abilitiesOf('read-only', READ),
  member: abilitiesOf('member', MANAGE),
  admin: abilitiesOf('admin', MANAGE),
  owner: abilitiesOf('owner', OWN),
};

function abilitiesOf(role: Role, others: readonly Ability[]): ReadonlySet<Ability> {
  return new Set([...abilitiesOfRights(rightsOfRole(role)), ...others]);
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * The name of the session's cookie. `__Host-` needs https, so that no other host of the domain can set the cookie; on
 * loopback without TLS there is no such host.
 */
export function sessionCookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-portcullis' : 'portcullis';
}

/** The stored hash of a token with 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** A session as it is now. */
interface LoadedSession extends Session {
  /** Stores that it was used now; null if that is known to the minute. */
  readonly touch: (() => Promise<void>) | null;
}

/** The session of a Cookie header, with the rights in the organisation of this slug. */
export async function loadSession(
  db: Db | Tx,
  cookies: string | undefined,
  cookieName: string,
  slug: string | null,
): Promise<LoadedSession> {
  const token = readCookie(cookies, cookieName);
  const row = token === null ? null : await findSession(db, hashToken(token), slug);
  if (row === null) throw unauthenticated('Sign in first: there is no session, or it has ended.');
  const person: Person = {
    kind: 'person',
    id: row.person_id,
    sessionId: row.session_id,
    email: row.email,
    isOperator: row.is_operator,
  };
  const touch = row.is_stale ? () => touchSession(db, row.session_id) : null;
  const by = slug === null ? person : (toMember(person, row) ?? toGuest(person, row));
  return { by, expiresAt: row.expires_at, touch };
}

function toMember(person: Person, row: SessionRow): Member | null {
  const { organisation, acting_id, role: own } = row;
  const isActing = acting_id !== null && acting_id === organisation?.id;
  const role = isActing ? 'owner' : own;
  if (organisation === null || role === null) return null;
  const serverRights = serverRightsOf(row);
  return {
    kind: 'member',
    person,
    role,
    isActing,
    organisationId: organisation.id,
    organisation: toOrganisationView(organisation),
    abilities: new Set([...ROLE_ABILITIES[role], ...abilitiesFor(serverRights)]),
    prefixes: null,
    servers: null,
    managedServers: null,
    serverRights,
  };
}

function toGuest(person: Person, row: SessionRow): Guest {
  const { organisation } = row;
  const serverRights = serverRightsOf(row);
  if (organisation === null || serverRights.size === 0) {
    throw new Problem('not_found', 'There is no organisation of this name that you belong to.');
  }
  const servers = [...serverRights.keys()];
  return {
    kind: 'guest',
    person,
    organisationId: organisation.id,
    organisation: toOrganisationView(organisation),
    abilities: abilitiesFor(serverRights),
    prefixes: [],
    servers,
    managedServers: servers,
    serverRights,
  };
}

function serverRightsOf({ server_rights: stored }: SessionRow): ServerRights {
  const entries = Object.entries(stored ?? {});
  return new Map(entries.map(([uuid, rights]) => [uuid, new Set(rights.filter(isServerRight))]));
}

/** The abilities that the rights to any of the servers give for the rows; the right to the one server is checked there. */
function abilitiesFor(serverRights: ServerRights): ReadonlySet<Ability> {
  return abilitiesOfRights([...serverRights.values()].flatMap((rights) => [...rights]));
}

/** A token of a Cookie header; null without a well-formed one. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (part.slice(0, at).trim() !== name) continue;
    const value = part.slice(at + 1).trim();
    if (TOKEN.test(value)) return value;
  }
  return null;
}

interface SessionRow {
  readonly session_id: number;
  readonly person_id: number;
  readonly email: string;
  readonly is_operator: boolean;
  readonly acting_id: number | null;
  readonly is_stale: boolean;
  readonly expires_at: Date;
  readonly organisation: Organisation | null;
  readonly role: Role | null;
  /** The person's rights to servers of the organisation, by uuid; null without any. */
  readonly server_rights: Readonly<Record<string, readonly string[]>> | null;
}

/** A session ends after 30 days, and after 7 without a request. */
async function findSession(
  db: Db | Tx,
  tokenHash: Buffer,
  slug: string | null,
): Promise<SessionRow | null> {
  const { rows } = await sql<SessionRow>`
    select s.id as session_id, p.id as person_id, p.email, p.is_operator,
           case when p.is_operator then s.acting_id end as acting_id,
           s.last_seen_at < now() - interval '1 minute' as is_stale, s.expires_at,
           case when o.id is not null then to_jsonb(o) end as organisation, m.role,
           (select jsonb_object_agg(sp.server, sp.rights)
              from server_people sp join game_servers g on g.uuid = sp.server
             where sp.person_id = p.id and g.organisation_id = o.id) as server_rights
      from sessions s
      join people p on p.id = s.person_id and p.disabled_at is null
      left join organisations o on o.slug = ${slug}
      left join members m on m.organisation_id = o.id and m.person_id = p.id
     where s.token_hash = ${tokenHash} and s.expires_at > now()
       and s.last_seen_at > now() - interval '7 days'`.execute(db);
  return rows[0] ?? null;
}

async function touchSession(db: Db | Tx, id: number): Promise<void> {
  await sql`update sessions set last_seen_at = now() where id = ${id}`.execute(db);
}
