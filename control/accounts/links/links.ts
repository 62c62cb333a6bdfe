import type { Role } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import { type Actor, recordAudit, takeRight } from '../../access/index.ts';
import type { Reader, Tx } from '../../db/database.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { Problem } from '../../problem.ts';
import { requireGoodPassword } from '../good-password.ts';
import { findLink, type LinkRow, type PresentedLink, voidLinksOf } from './link-store.ts';
import { lockRoles, requireOwner } from '../members.ts';
import { giveRights } from '../server-rights-store.ts';
import {
  findPersonByEmail,
  insertPerson,
  lockPerson,
  type PersonRow,
  refuse,
  requireEmail,
} from '../person-store.ts';
import { hashPassword, prove, type Proof, type Prover } from '../prove.ts';
import { recover } from '../recover.ts';
import { beginSession, requireEncrypted, type Visitor } from '../session-store.ts';

export function linkHandlers(publicUrl: string): Pick<Handlers, 'readLink' | 'acceptLink'> {
  return {
    async readLink(call, db) {
      const link = await requireLink(db, call.body.token);
      const person = link.email === null ? null : await findPersonByEmail(db, link.email);
      const way = decideWay(link, person);
      if (way === 'refuse') throw unproven(link);
      const data = {
        kind: link.kind,
        email: link.email,
        has_account: way === 'sign in',
        organisation: link.organisation,
        role: link.role,
        server: link.server_name,
        rights: link.rights ?? [],
        expires_at: link.expires_at.toISOString(),
      };
      return { status: 200, body: { data } };
    },
    async acceptLink(call, db) {
      requireEncrypted(publicUrl);
      const { token } = call.body;
      const seen = await requireLink(db, token);
      const email = requireEmail(seen.email ?? call.body.email ?? '');
      const visitor = { ...call, publicUrl, visitor: call };
      const prepared = await prepare(db, seen, { ...call.body, email }, visitor);
      const setCookie = await call.write(async (tx) => {
        // A passkey that is being added meanwhile would survive.
        if (prepared.way === 'recover') await takeRight(tx, -prepared.personId);
        // Members, then people, then links: the order of those who take rights away.
        const roles = await lockRoles(tx, seen.organisation_id);
        const person = await lockPerson(tx, email);
        const link = await requireLink(tx, token, true);
        if (decideWay(link, person) !== prepared.way) throw changed();
        await sql`update portal_links set used_at = now() where id = ${link.id}`.execute(tx);
        const id = await accept(tx, { link, person, roles, email, prepared, visitor: call });
        call.endsRights(-id);
        return beginSession(tx, { id, email }, { visitor: call, by: 'link', publicUrl });
      });
      const headers = { 'set-cookie': setCookie };
      return { status: 200, body: { data: { email } }, headers };
    },
  };
}

/** The one place where a presented link is read: it is unused, and its maker could make it now. */
async function requireLink(db: Reader, token: string, lock = false): Promise<PresentedLink> {
  const link = await findLink(db, token, lock);
  if (link !== null) return link;
  throw new Problem(
    'not_found',
    'This link was used already, was withdrawn, or has expired. Ask for another one.',
  );
}

/**
 * The ways to accept a link. `sign in`: all that signing in asks for. `create`: a new account. `recover`: a new
 * password, and the end of every way into the account. `refuse`: nothing, because nobody proved the address of the
 * account: another organisation made it, perhaps in somebody else's name.
 */
type Way = 'create' | 'sign in' | 'recover' | 'refuse';

function decideWay(link: PresentedLink, person: PersonRow | null): Way {
  if (person === null) return 'create';
  if (link.kind === 'reset') return 'recover';
  if (person.proven_at !== null) return 'sign in';
  if (link.proves) return 'recover';
  const isOfMaker = link.organisation_id !== null && link.organisation_id === person.made_by;
  return isOfMaker ? 'sign in' : 'refuse';
}

function unproven({ email }: Pick<LinkRow, 'email'>): Problem {
  return new Problem(
    'invalid_request',
    `There is an account for ${email ?? 'this address'} whose address nobody proved yet. Use the link that was mailed there; without one, ask the operator for a link for a new password, and then open this one again.`,
  );
}

function changed(): Problem {
  return new Problem('invalid_request', 'The account changed meanwhile. Open the link again.');
}

/** Facts that are checked and hashed before the transaction, because it takes long. */
type Prepared =
  | { readonly way: 'sign in'; readonly proof: Proof }
  | ({ readonly passwordHash: string; readonly name: string } & (
      | { readonly way: 'create' }
      | { readonly way: 'recover'; readonly personId: number }
    ));

interface Wanted {
  readonly email: string;
  readonly password: string;
  readonly name?: string;
  readonly code?: string;
}

async function prepare(
  db: Reader,
  link: PresentedLink,
  { email, password, name, code }: Wanted,
  prover: Prover,
): Promise<Prepared> {
  const person = await findPersonByEmail(db, email);
  const way = decideWay(link, person);
  if (way === 'refuse') throw unproven({ email });
  if (way === 'sign in') {
    const proof = await prove(db, { email, password, code }, prover);
    if (proof.needsCode) {
      throw refuse('/code', 'is needed: the account has an authenticator app');
    }
    return { way, proof };
  }
  if (way === 'create' && name === undefined) throw refuse('/name', 'is needed for a new account');
  const passwordHash = await hashPassword(await requireGoodPassword(password));
  const chosen = { passwordHash, name: name ?? '' };
  return person === null ? { way: 'create', ...chosen } : { way, personId: person.id, ...chosen };
}

interface Accepting {
  readonly link: PresentedLink;
  /** Locked; null: the account is made. */
  readonly person: PersonRow | null;
  /** Roles of the members of its organisation, locked. */
  readonly roles: ReadonlyMap<number, Role>;
  readonly email: string;
  readonly prepared: Prepared;
  readonly visitor: Visitor;
}

/** Returns the id of the person. */
async function accept(
  tx: Tx,
  { link, person, roles, email, prepared, visitor }: Accepting,
): Promise<number> {
  const { source, requestId } = visitor;
  const actor: Actor = { kind: 'user', name: email, source, requestId };
  const id = await settleAccount(tx, { link, person, email, prepared, actor });
  if (link.kind !== 'reset') await giveRole(tx, { link, roles, personId: id, actor });
  await recordAudit(tx, {
    actor,
    organisationId: link.organisation_id,
    action: 'link.accept',
    target: `link:${link.id}`,
    detail: {
      kind: link.kind,
      person: id,
      ...(link.server === null ? { role: link.role } : { server: link.server }),
    },
  });
  return id;
}

async function settleAccount(
  tx: Tx,
  {
    link,
    person,
    email,
    prepared,
    actor,
  }: Omit<Accepting, 'visitor' | 'roles'> & { readonly actor: Actor },
): Promise<number> {
  if (prepared.way === 'sign in') return (await prepared.proof.complete(tx)).id;
  const { passwordHash, name } = prepared;
  if (person === null) {
    const { organisation_id: madeBy, proves: isProven } = link;
    const account = { email, name, passwordHash, isOperator: false, isProven, madeBy };
    return insertPerson(tx, account);
  }
  await recover(tx, person, { passwordHash, actor });
  if (name !== '') await sql`update people set name = ${name} where id = ${person.id}`.execute(tx);
  return person.id;
}

/** A member that is there gets the role of the link, also a lower one. An organisation keeps an owner. */
async function giveRole(
  tx: Tx,
  {
    link,
    roles,
    personId,
    actor,
  }: Pick<Accepting, 'link' | 'roles'> & { readonly personId: number; readonly actor: Actor },
): Promise<void> {
  if (link.server !== null) return giveRights(tx, link.server, personId, link.rights ?? []);
  const { kind, organisation_id: organisationId, role } = link;
  if (kind === 'operator' || organisationId === null) {
    await sql`update people set is_operator = true where id = ${personId}`.execute(tx);
  }
  if (organisationId === null) return;
  await sql`
    insert into members (organisation_id, person_id, role) values (${organisationId}, ${personId}, ${role})
    on conflict (organisation_id, person_id) do update set role = excluded.role`.execute(tx);
  if (roles.get(personId) === 'owner') await requireOwner(tx, organisationId);
  if (roles.has(personId)) await voidLinksOf(tx, personId, actor);
}
