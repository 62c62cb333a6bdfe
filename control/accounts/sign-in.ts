import { unauthenticated } from '../access/index.ts';
import { sql } from 'kysely';
import type { Handlers } from '../http/operations/handlers.ts';
import { forgetAttempts, provePassword } from './prove.ts';
import { hasTotp, useCode } from './second-factor.ts';
import { beginSession, endCookie, requireEncrypted } from './session-store.ts';
import { requirePerson } from './call.ts';

type SignInHandlers = Pick<Handlers, 'signIn' | 'signOut'>;

export function signInHandlers(publicUrl: string): SignInHandlers {
  return {
    async signIn(call, db) {
      requireEncrypted(publicUrl);
      const { email, password, code } = call.body;
      const person = await provePassword(db, { email, password }, { visitor: call, publicUrl });
      if (hasTotp(person) && code === undefined) {
        return { status: 200, body: { data: { signed_in: false } } };
      }
      const setCookie = await db.transaction().execute(async (tx) => {
        const use = hasTotp(person) ? await useCode(tx, person, code ?? '') : 'accepted';
        if (use === 'used') {
          throw unauthenticated('This code was used already. Wait for the next one.');
        }
        if (use === 'wrong') {
          throw unauthenticated('The email, the password or the code is wrong.');
        }
        await forgetAttempts(tx, email);
        return beginSession(tx, person, { visitor: call, by: 'password', publicUrl });
      });
      const headers = { 'set-cookie': setCookie };
      return { status: 200, body: { data: { signed_in: true } }, headers };
    },
    async signOut(call, tx) {
      const { sessionId } = requirePerson(call);
      await sql`delete from sessions where id = ${sessionId}`.execute(tx);
      const headers = {
        'set-cookie': endCookie(publicUrl),
        'clear-site-data': '"cache", "storage"',
      };
      return { status: 200, body: { data: { done: true } }, headers };
    },
  };
}
