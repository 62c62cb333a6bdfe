import type { FileAnswer } from '@portcullis/link/messages/files.ts';
import type { NodeAnswer } from '@portcullis/link/messages/node.ts';
import { sql } from 'kysely';
import { type Caller, keyActor, recordAudit } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import type { Writing } from '../http/operations/operation.ts';
import { recordActivity } from './activity.ts';
import type { Silence } from './nodes/calls.ts';
import type { ServerCall } from './require-server.ts';

/** The result of an attempt, as far as it is known. */
export type Outcome =
  | { readonly kind: 'done' }
  /** `failed`: the items that were refused, where the others were done. */
  | { readonly kind: 'refused'; readonly message: string; readonly failed?: number }
  /** No answer came in time, so it may have been done or not. */
  | { readonly kind: 'unconfirmed'; readonly message: string };

/** Whether a node may have done what it did not answer: it had it, and no word came back. */
export function isUnconfirmed(answer: NodeAnswer | FileAnswer | Silence): boolean {
  return answer.kind === 'silent' && (answer.why === 'late' || answer.why === 'cut');
}

/** An audited attempt, whose outcome is recorded when it is known. */
export interface Attempt {
  /**
   * Adds the outcome to its audit entry, and makes the entry of the activity: nothing is in there as done before it is known
   * to be. Only the first call counts.
   */
  close(outcome: Outcome): Promise<void>;
}

export interface AttemptOptions {
  /** The action in the activity of the server; the audit trail names it with `server.` before it. */
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Throws unless the caller may do it, with the rights that it has in the transaction. */
  readonly check: (tx: Tx, by: Caller) => Promise<unknown>;
}

/** Audits what a node is about to be asked for, so that a process that ends leaves the attempt in the audit trail. */
export async function recordAttempt(
  db: Reader,
  call: ServerCall & Writing<Caller>,
  { action, detail, check }: AttemptOptions,
): Promise<Attempt> {
  const actor = keyActor(call);
  // Reads the rights of the caller again, so that nothing is sent for one who lost them.
  const id = await call.write(async (tx, by) => {
    await check(tx, by);
    return recordAudit(tx, {
      actor,
      organisationId: call.by.organisationId,
      action: `server.${action}`,
      target: `server:${call.params.slice}`,
      detail,
    });
  });
  let isClosed = false;
  return {
    async close(outcome) {
      if (isClosed) return;
      isClosed = true;
      // The attempt is committed already; the outcome need not be waited for.
      await sql`
        update audit set detail = detail || ${JSON.stringify(auditOf(outcome))}::jsonb
         where id = ${id} and set_config('synchronous_commit', 'off', true) = 'off'`.execute(db);
      const whole = { ...detail, ...activityOf(outcome) };
      // Meanwhile it may have passed to another organisation.
      await recordActivity(db, call, action, whole, { of: call.by.organisationId });
    },
  };
}

function auditOf(outcome: Outcome): object {
  if (outcome.kind === 'done') return { ok: true };
  const { kind: _, ...why } = outcome;
  return { ok: false, ...why };
}

/** The fields of an activity entry that say that something was not done; `wordsOfActivity` writes them out. */
function activityOf(outcome: Outcome): Readonly<Record<string, unknown>> {
  if (outcome.kind === 'done') return {};
  const { kind, message, ...rest } = outcome;
  return { [kind]: message, ...rest };
}
