import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { sql } from 'kysely';
import { unauthenticated } from '../../access/index.ts';
import type { Reader, Tx } from '../../db/database.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { notThere } from '../../http/operations/not-found.ts';
import { auditOwn, DONE } from '../call.ts';
import { lockPerson, refuse } from '../person-store.ts';
import { requirePassword } from '../prove.ts';
import { beginSession } from '../session-store.ts';

type SignInNames = 'beginPasskeySignIn' | 'signInWithPasskey';
type OwnNames = 'beginPasskey' | 'addPasskey' | 'deletePasskey';

interface PasskeyRow {
  readonly id: number;
  readonly person_id: number;
  readonly email: string;
  readonly credential_id: string;
  readonly public_key: Buffer;
  readonly counter: number;
}

/** Passkeys of the public URL's host. */
function relyingParty(publicUrl: string) {
  const { hostname: rpID, origin } = new URL(publicUrl);
  const expected = { expectedOrigin: origin, expectedRPID: rpID, requireUserVerification: true };
  return { rpID, expected };
}

/** A passkey verifies its user, so that it is both factors. */
export function passkeySignInHandlers(publicUrl: string): Pick<Handlers, SignInNames> {
  const { rpID, expected } = relyingParty(publicUrl);
  return {
    async beginPasskeySignIn(_call, tx) {
      const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' });
      await storeChallenge(tx, options.challenge, null);
      return { status: 200, body: { data: options } };
    },
    async signInWithPasskey(call, db) {
      const { credential: sent } = call.body;
      const passkey = await findPasskey(db, String(sent['id']));
      const found = await verifyAuthenticationResponse({
        ...expected,
        response: sent as unknown as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
        expectedChallenge: (challenge) => takeChallenge(db, challenge, null),
        credential: {
          id: passkey.credential_id,
          publicKey: new Uint8Array(passkey.public_key),
          counter: passkey.counter,
        },
      }).catch((cause: unknown) => {
        throw refused(cause);
      });
      if (!found.verified) throw refused();
      const setCookie = await call.write(async (tx) => {
        const person = await lockPerson(tx, passkey.email);
        const { rows } = await sql`
          update passkeys set counter = ${found.authenticationInfo.newCounter}, last_used_at = now()
           where id = ${passkey.id} returning 1`.execute(tx);
        // Deleted or disabled since it was found.
        if (person?.disabled_at !== null || rows.length === 0) throw refused();
        return beginSession(tx, person, { visitor: call, by: 'passkey', publicUrl });
      });
      const headers = { 'set-cookie': setCookie };
      return { status: 200, body: { data: { signed_in: true } }, headers };
    },
  };
}

/** A person's own passkeys. */
export function passkeyHandlers(publicUrl: string): Pick<Handlers, OwnNames> {
  const { rpID, expected } = relyingParty(publicUrl);
  return {
    async beginPasskey(call, db) {
      const person = await requirePassword(db, call.by, call.body.password);
      const known = await sql<{ id: string }>`
        select credential_id as id from passkeys where person_id = ${person.id}`.execute(db);
      const options = await generateRegistrationOptions({
        rpName: 'Portcullis',
        rpID,
        userName: person.email,
        userDisplayName: person.name,
        excludeCredentials: known.rows,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      await call.write((tx) => storeChallenge(tx, options.challenge, person.id));
      return { status: 200, body: { data: options } };
    },
    async addPasskey(call, tx) {
      const person = call.by;
      const found = await verifyRegistrationResponse({
        ...expected,
        response: call.body.credential as unknown as Parameters<
          typeof verifyRegistrationResponse
        >[0]['response'],
        expectedChallenge: (challenge) => takeChallenge(tx, challenge, person.id),
      }).catch(() => null);
      if (found === null || !found.verified) {
        throw refuse('/credential', 'is not what was asked for; begin again');
      }
      const { credential } = found.registrationInfo;
      await sql`
        insert into passkeys (person_id, name, credential_id, public_key, counter, transports)
        values (${person.id}, ${call.body.name}, ${credential.id}, ${Buffer.from(credential.publicKey)},
                ${credential.counter}, ${credential.transports ?? []})`.execute(tx);
      await auditOwn(tx, call, 'passkey.add');
      return { ...DONE, status: 201 };
    },
    async deletePasskey(call, tx) {
      const { rows } = await sql`
        delete from passkeys where id = ${call.params.passkey} and person_id = ${call.by.id}
        returning 1`.execute(tx);
      if (rows.length === 0) throw notThere();
      await auditOwn(tx, call, 'passkey.delete');
      return DONE;
    },
  };
}

async function findPasskey(db: Reader, credentialId: string): Promise<PasskeyRow> {
  const { rows } = await sql<PasskeyRow>`
    select k.*, p.email from passkeys k join people p on p.id = k.person_id
     where k.credential_id = ${credentialId} and p.disabled_at is null`.execute(db);
  if (rows[0] === undefined) throw refused();
  return rows[0];
}

function refused(cause?: unknown) {
  const problem = unauthenticated('The passkey was not accepted. Try again, or use the password.');
  problem.cause = cause;
  return problem;
}

/** For five minutes and one answer. */
async function storeChallenge(db: Tx, challenge: string, personId: number | null): Promise<void> {
  await sql`delete from passkey_challenges where expires_at < now()`.execute(db);
  await sql`
    insert into passkey_challenges (challenge, person_id, expires_at)
    values (${challenge}, ${personId}, now() + interval '5 minutes')`.execute(db);
}

async function takeChallenge(
  db: Reader,
  challenge: string,
  personId: number | null,
): Promise<boolean> {
  const { rows } = await sql`
    delete from passkey_challenges
     where challenge = ${challenge} and person_id is not distinct from ${personId} and expires_at > now()
    returning 1`.execute(db);
  return rows.length === 1;
}
