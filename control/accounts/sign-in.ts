import { sql } from 'kysely';
import type { Handlers } from '../http/operations/handlers.ts';
import { prove } from './prove.ts';
import { beginSession, endCookie, requireEncrypted } from './session-store.ts';

type SignInHandlers = Pick<Handlers, 'signIn' | 'signOut'>;

export function signInHandlers(publicUrl: string): SignInHandlers {
  return {
    async signIn(call, db) {
      requireEncrypted(publicUrl);
      const { email, password, code } = call.body;
      const proof = await prove(db, { email, password, code }, { visitor: call, publicUrl });
      if (proof.needsCode) return { status: 200, body: { data: { signed_in: false } } };
      const setCookie = await call.write(async (tx) => {
        const person = await proof.complete(tx);
        return beginSession(tx, person, { visitor: call, by: 'password', publicUrl });
      });
      const headers = { 'set-cookie': setCookie };
      return { status: 200, body: { data: { signed_in: true } }, headers };
    },
    async signOut(call, tx) {
      const { id, sessionId } = call.by;
      await sql`delete from sessions where id = ${sessionId}`.execute(tx);
      call.endsRights(-id);
      const headers = {
        'set-cookie': endCookie(publicUrl),
        'clear-site-data': '"cache", "storage"',
      };
      return { status: 200, body: { data: { done: true } }, headers };
    },
  };
}
