import { sql } from 'kysely';
import { recordAudit } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { Problem } from '../problem.ts';
import { requireGoodPassword } from './good-password.ts';
import { findLink, type LinkRow } from './link-store.ts';
import { forgetAttempts, hashPassword, provePassword, type Prover } from './prove.ts';
import {
  findPersonByEmail,
  insertPerson,
  refuse,
  requireEmail,
  setPassword,
} from './person-store.ts';
import { removeSecondFactor } from './second-factor.ts';

export function linkHandlers(publicUrl: string): Pick<Handlers, 'readLink' | 'acceptLink'> {
  return {
    async readLink(call, db) {
      const link = await requireLink(db, call.body.token);
      const person = link.email === null ? null : await findPersonByEmail(db, link.email);
      const data = {
        kind: link.kind,
        email: link.email,
        has_account: person !== null && link.kind !== 'reset',
        organisation: link.organisation,
        role: link.role,
        expires_at: link.expires_at.toISOString(),
      };
      return { status: 200, body: { data } };
    },
    async acceptLink(call, db) {
      const { token, password, name } = call.body;
      const seen = await requireLink(db, token);
      const email = requireEmail(seen.email ?? call.body.email ?? '');
      const secret = await prepare(db, seen, { email, password, name, visitor: call, publicUrl });
      await db.transaction().execute(async (tx) => {
        const link = await requireLink(tx, token, true);
        await sql`update portal_links set used_at = now() where id = ${link.id}`.execute(tx);
        const personId = await apply(tx, link, email, secret);
        await recordAudit(tx, {
          actor: { kind: 'user', name: email, source: call.source, requestId: call.requestId },
          organisationId: link.organisation_id,
          action: 'link.accept',
          target: `link:${link.id}`,
          detail: { kind: link.kind, person: personId, role: link.role },
        });
      });
      return { status: 200, body: { data: { email } } };
    },
  };
}

async function requireLink(db: Db | Tx, token: string, lock = false): Promise<LinkRow> {
  const link = await findLink(db, token, lock);
  if (link !== null) return link;
  throw new Problem(
    'not_found',
    'This link was used already, was withdrawn, or has expired. Ask for another one.',
  );
}

/** The hash of a new password with the name of a new account; null for an account that proved its own password. */
type Secret = { readonly hash: string; readonly name: string } | null;

/** Before the transaction, because hashing takes long. */
async function prepare(
  db: Db,
  link: LinkRow,
  sent: {
    readonly email: string;
    readonly password: string;
    readonly name: string | undefined;
  } & Prover,
): Promise<Secret> {
  const { email, password, name } = sent;
  const person = await findPersonByEmail(db, email);
  if (person !== null && link.kind !== 'reset') {
    await provePassword(db, { email, password }, sent);
    await forgetAttempts(db, email);
    return null;
  }
  if (person === null && name === undefined) throw refuse('/name', 'is needed for a new account');
  return { hash: await hashPassword(await requireGoodPassword(password)), name: name ?? '' };
}

async function apply(tx: Tx, link: LinkRow, email: string, secret: Secret): Promise<number> {
  const person = await findPersonByEmail(tx, email);
  if (link.kind === 'reset') {
    if (person === null || secret === null) throw new Error('a reset link without a person');
    await setPassword(tx, person.id, secret.hash, null);
    await removeSecondFactor(tx, person.id);
    await forgetAttempts(tx, email);
    return person.id;
  }
  const isOperator = link.kind === 'operator' || link.organisation_id === null;
  const id = person?.id ?? (await create(tx, email, secret));
  if (isOperator) await sql`update people set is_operator = true where id = ${id}`.execute(tx);
  if (link.organisation_id !== null) {
    await sql`
      insert into members (organisation_id, person_id, role) values (${link.organisation_id}, ${id}, ${link.role})
      on conflict (organisation_id, person_id) do update set role = excluded.role`.execute(tx);
  }
  return id;
}

async function create(tx: Tx, email: string, secret: Secret): Promise<number> {
  if (secret === null) throw new Error('an account disappeared while a link was accepted');
  const { name, hash: passwordHash } = secret;
  return insertPerson(tx, { email, name, passwordHash, isOperator: false });
}
