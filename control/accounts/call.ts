import { type Person, personActor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';

/** The signed-in person of an operation whose row needs one. */
export function requirePerson(call: { readonly person: Person | null }): Person {
  if (call.person === null) throw new Error('an operation for people was reached without one');
  return call.person;
}

/** A number of the path; what is no id names nothing. */
export function idOf(call: { readonly params: Readonly<Record<string, string>> }, name: string) {
  const text = call.params[name] ?? '';
  if (!/^[1-9]\d{0,14}$/.test(text)) throw notThere();
  return Number(text);
}

export function notThere(): Problem {
  return new Problem('not_found', 'There is nothing with this id that you may see.');
}

export const DONE = { status: 200, body: { data: { done: true } } } as const;

/** Records what a person does with its own account. */
export async function auditOwn(
  tx: Tx,
  call: {
    readonly person: Person | null;
    readonly source: string | null;
    readonly requestId: string;
  },
  action: string,
): Promise<void> {
  const person = requirePerson(call);
  await recordAudit(tx, {
    actor: personActor({ ...call, person }),
    organisationId: null,
    action,
    target: `person:${person.id}`,
  });
}
