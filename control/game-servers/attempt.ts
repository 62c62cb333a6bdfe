import { sql } from 'kysely';
import { type Caller, keyActor, recordAudit } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import type { Writing } from '../http/operations/operation.ts';
import { recordActivity } from './activity.ts';
import type { ServerCall } from './require-server.ts';

/** An audited attempt, whose outcome is recorded when it is known. */
export interface Attempt {
  /** Adds fields to its audit entry. */
  close(outcome: object): Promise<void>;
}

export interface AttemptOptions {
  /** The action in the activity of the server; the audit trail names it with `server.` before it. */
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Throws unless the caller may do it, with the rights that it has in the transaction. */
  readonly check: (tx: Tx, by: Caller) => Promise<unknown>;
}

/** Audits what a node is about to be asked for, so that a dead process leaves the attempt. */
export async function recordAttempt(
  db: Reader,
  call: ServerCall & Writing<Caller>,
  { action, detail, check }: AttemptOptions,
): Promise<Attempt> {
  const actor = keyActor(call);
  // Reads the rights of the caller again, so that nothing is sent for one who lost them.
  const id = await call.write(async (tx, by) => {
    await check(tx, by);
    await recordActivity(tx, call, action, detail);
    return recordAudit(tx, {
      actor,
      organisationId: call.by.organisationId,
      action: `server.${action}`,
      target: `server:${call.params.slice}`,
      detail,
    });
  });
  return {
    async close(outcome) {
      // The attempt is committed already; the outcome need not be waited for.
      await sql`
        update audit set detail = detail || ${JSON.stringify(outcome)}::jsonb
         where id = ${id} and set_config('synchronous_commit', 'off', true) = 'off'`.execute(db);
    },
  };
}
