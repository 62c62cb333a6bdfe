import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Role } from '@portcullis/contract/endpoint.ts';
import type { Person } from '../access/index.ts';
import type { Db, Reader, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notThere } from '../http/operations/not-found.ts';
import { Problem } from '../problem.ts';
import { auditOwn, DONE } from './call.ts';
import { requireGoodPassword } from './good-password.ts';
import { hashPassword, requirePassword } from './prove.ts';
import { endSessions, findPerson, type PersonRow, refuse } from './person-store.ts';
import { withdrawResets } from './links/link-store.ts';
import { findDevice, forgetDevices } from './session-store.ts';
import {
  encodeBase32,
  hasTotp,
  removeSecondFactor,
  renewRecoveryCodes,
  useCode,
} from './second-factor.ts';

type SessionNames = 'readSession' | 'readAccount' | 'listSessions' | 'endSession' | 'renameAccount';

/** Operations of people on their sessions and their name. */
export function sessionHandlers(): Pick<Handlers, SessionNames> {
  return {
    readSession: async (call, db) => ({
      status: 200,
      body: { data: await readWhoAmI(db, call.by) },
    }),
    readAccount: async (call, db) => ({
      status: 200,
      body: { data: await readAccount(db, call.by.id) },
    }),
    async listSessions(call, db) {
      const { id, sessionId } = call.by;
      const { rows } = await sql<{ id: number }>`
        select id, id = ${sessionId} as current, host(source) as source, user_agent,
               to_json(created_at) as created_at, to_json(last_seen_at) as last_seen_at
          from sessions s
         where person_id = ${id} and expires_at > now() and last_seen_at > now() - interval '7 days'
         order by s.last_seen_at desc, s.id desc`.execute(db);
      return { status: 200, body: { data: rows } };
    },
    async endSession(call, tx) {
      const { id } = call.by;
      const ended = await sql`
        delete from sessions where id = ${call.params.session} and person_id = ${id} returning 1`.execute(
        tx,
      );
      if (ended.rows.length === 0) throw notThere();
      call.endsRights(-id);
      await auditOwn(tx, call, 'session.end');
      return DONE;
    },
    async renameAccount(call, tx) {
      await sql`
        update people set name = ${call.body.name} where id = ${call.by.id}`.execute(tx);
      await auditOwn(tx, call, 'person.rename');
      return DONE;
    },
  };
}

/** Operations of people on their password. */
export function passwordHandlers(publicUrl: string): Pick<Handlers, 'changePassword'> {
  return {
    async changePassword(call, db) {
      const self = call.by;
      const { password, new_password: next } = call.body;
      const person = await requirePassword(db, self, password);
      const passwordHash = await hashPassword(await requireGoodPassword(next, '/new_password'));
      // Alone: a passkey that is being added meanwhile would not be shown.
      const passkeys = await call.write(async (tx) => {
        await replacePassword(tx, person, passwordHash);
        await endSessions(tx, person.id, self.sessionId);
        const device = await findDevice(tx, person.id, call.cookies, publicUrl);
        await forgetDevices(tx, person.id, device);
        await withdrawResets(tx, person.id);
        call.endsRights(-person.id);
        await auditOwn(tx, call, 'password.change');
        return loadPasskeys(tx, person.id);
      }, 'alone');
      return { status: 200, body: { data: { done: true, passkeys } } };
    },
  };
}

async function replacePassword(
  tx: Tx,
  { id, password_hash: before }: PersonRow,
  passwordHash: string,
): Promise<void> {
  const { rows } = await sql`
    update people set password_hash = ${passwordHash}
     where id = ${id} and password_hash = ${before} returning 1`.execute(tx);
  if (rows.length === 0) throw refuse('/password', 'was changed meanwhile; try again');
}

/** Passkeys: those that still sign in after a change of the password, which the person is shown. */
async function loadPasskeys(db: Reader, personId: number): Promise<object[]> {
  const { rows } = await sql<object>`
    select id, name, to_json(created_at) as created_at, to_json(last_used_at) as last_used_at
      from passkeys where person_id = ${personId} order by id`.execute(db);
  return rows;
}

/** Turning the authenticator app on. */
export function totpHandlers(publicUrl: string): Pick<Handlers, 'beginTotp' | 'confirmTotp'> {
  return {
    async beginTotp(call, db) {
      const person = await requirePassword(db, call.by, call.body.password);
      if (person.totp_confirmed_at !== null)
        throw refuse('/password', 'is right, but the app is on already; turn it off first');
      const secret = randomBytes(20);
      await call.write((tx) =>
        sql`
          update people set totp_secret = ${secret}
           where id = ${person.id} and totp_confirmed_at is null`.execute(tx),
      );
      const text = encodeBase32(secret);
      const uri = `otpauth://totp/Portcullis:${encodeURIComponent(person.email)}?secret=${text}&issuer=Portcullis`;
      return { status: 200, body: { data: { secret: text, uri } } };
    },
    async confirmTotp(call, tx) {
      const { id, sessionId } = call.by;
      const person = await findPerson(tx, id);
      if (person === null || person.totp_secret === null || person.totp_confirmed_at !== null) {
        throw new Problem('invalid_request', 'Begin to set up the app first.');
      }
      const isDigits = /^\d{6}$/.test(call.body.code);
      const use = isDigits ? await useCode(tx, person, call.body.code) : 'wrong';
      if (use === 'used') throw refuse('/code', 'was used already; wait for the next one');
      if (use === 'wrong') throw refuse('/code', 'is not the code that the app shows now');
      await sql`update people set totp_confirmed_at = now() where id = ${id}`.execute(tx);
      await endSessions(tx, id, sessionId);
      // Each counts wrong codes of its own, and the password alone made them.
      await forgetDevices(tx, id, await findDevice(tx, id, call.cookies, publicUrl));
      call.endsRights(-id);
      await auditOwn(tx, call, 'totp.on');
      const codes = await renewRecoveryCodes(tx, id);
      return { status: 200, body: { data: { recovery_codes: codes } } };
    },
  };
}

/** Operations of an authenticator app that is on. */
export function secondFactorHandlers(): Pick<Handlers, 'removeTotp' | 'renewRecoveryCodes'> {
  return {
    async renewRecoveryCodes(call, db) {
      const person = await requirePassword(db, call.by, call.body.password);
      if (!hasTotp(person)) {
        throw new Problem('invalid_request', 'Turn the authenticator app on first.');
      }
      const codes = await call.write(async (tx) => {
        await auditOwn(tx, call, 'recovery-codes.renew');
        return renewRecoveryCodes(tx, person.id);
      });
      return { status: 201, body: { data: { recovery_codes: codes } } };
    },
    async removeTotp(call, db) {
      const person = await requirePassword(db, call.by, call.body.password);
      await call.write(async (tx) => {
        await removeSecondFactor(tx, person.id);
        await auditOwn(tx, call, 'totp.off');
      });
      return DONE;
    },
  };
}

interface OrganisationRow {
  readonly slug: string;
  readonly name: string;
  /** `guest`: rights to single servers only. */
  readonly role: Role | 'guest';
  readonly owner: Owner;
}

/** Who is signed in, with its organisations; one that an operator acts for has the role of an owner. */
async function readWhoAmI(db: Db, person: Person): Promise<object> {
  const { rows } = await sql<{
    name: string;
    acting_for: string | null;
    organisations: OrganisationRow[];
  }>`
    select p.name, a.slug as acting_for, coalesce((
        select json_agg(json_build_object('slug', o.slug, 'name', o.name, 'owner', o.owner,
                                          'role', case when o.id = a.id then 'owner' else coalesce(m.role, 'guest') end)
                        order by o.slug)
          from organisations o
          left join members m on m.organisation_id = o.id and m.person_id = p.id
         where m.person_id is not null or o.id = a.id
            or exists (select from server_people sp join game_servers g on g.uuid = sp.server
                        where sp.person_id = p.id and g.organisation_id = o.id)), '[]') as organisations
      from people p
      join sessions s on s.id = ${person.sessionId}
      left join organisations a on a.id = s.acting_id and p.is_operator
     where p.id = ${person.id}`.execute(db);
  const row = rows[0] ?? { name: '', acting_for: null, organisations: [] };
  return { id: person.id, email: person.email, operator: person.isOperator, ...row };
}

async function readAccount(db: Db, personId: number): Promise<object> {
  const { rows } = await sql<object>`
    select p.totp_confirmed_at is not null as totp,
           (select count(*)::int from recovery_codes c where c.person_id = p.id) as recovery_codes_left
      from people p where p.id = ${personId}`.execute(db);
  return { ...rows[0], passkeys: await loadPasskeys(db, personId) };
}
