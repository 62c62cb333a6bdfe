import { type Person, personActor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { Call } from '../http/operations/operation.ts';

export const DONE = { status: 200, body: { data: { done: true } } } as const;

/** Records what a person does with its own account. */
export async function auditOwn(
  tx: Tx,
  call: Pick<Call<Person>, 'by' | 'source' | 'requestId'>,
  action: string,
): Promise<void> {
  await recordAudit(tx, {
    actor: personActor(call),
    organisationId: null,
    action,
    target: `person:${call.by.id}`,
  });
}
