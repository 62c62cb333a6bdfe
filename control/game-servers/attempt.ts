import { sql } from 'kysely';
import { keyActor, recordAudit } from '../access/index.ts';
import type { Reader } from '../db/database.ts';
import type { CallerCall, Writing } from '../http/operations/operation.ts';

/** A request about a server of the caller. */
export type ServerCall = CallerCall<{ readonly slice: string }>;

/** An audited attempt, whose outcome is recorded when it is known. */
export interface Attempt {
  /** Adds fields to its audit entry. */
  close(outcome: object): Promise<void>;
}

/** Audits what a node is about to be asked for, so that a dead process leaves the attempt. */
export async function recordAttempt(
  db: Reader,
  call: ServerCall & Writing,
  action: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<Attempt> {
  const actor = keyActor(call);
  // Reads the rights of the caller again, so that nothing is sent for one who lost them.
  const id = await call.write((tx) =>
    recordAudit(tx, {
      actor,
      organisationId: call.by.organisationId,
      action,
      target: `server:${call.params.slice}`,
      detail,
    }),
  );
  return {
    async close(outcome) {
      // The attempt is committed already; the outcome need not be waited for.
      await sql`
        update audit set detail = detail || ${JSON.stringify(outcome)}::jsonb
         where id = ${id} and set_config('synchronous_commit', 'off', true) = 'off'`.execute(db);
    },
  };
}
