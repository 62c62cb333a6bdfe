import { type Actor, notifyAccess, personActor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { constraintOf } from '../db/failure.ts';
import { Batch } from '../fleet/batch.ts';
import type { Answer, Call } from '../http/operations/operation.ts';
import { lockFleet } from '../organisations/index.ts';
import { invalidField, Problem } from '../problem.ts';
import { loadOrganisations } from './store.ts';
import { organisationView } from './views.ts';

/** What an operator did, for the audit trail. */
export interface Done {
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The organisation of the path; a write to what the fleet file owns is refused by the batch. */
export interface Written {
  readonly batch: Batch;
  readonly organisationId: number;
}

/** A change of an organisation by an operator: one transaction, one generation, audited. Answers it as it is then. */
export async function writeOrganisation(
  call: Call,
  tx: Tx,
  change: (written: Written) => Promise<Done>,
  status: 200 | 201 = 200,
): Promise<Answer> {
  const slug = call.params['slug'] ?? '';
  await lockFleet(tx);
  const [organisation] = await loadOrganisations(tx, slug);
  if (organisation === undefined) {
    throw new Problem('not_found', `There is no organisation "${slug.slice(0, 63)}".`);
  }
  const batch = new Batch(tx, 'portal');
  const done = await change({ batch, organisationId: organisation.id }).catch((error: unknown) => {
    throw explain(error);
  });
  return { ...(await land(call, batch, organisation.id, done)), status };
}

/** Takes the generation, writes the audit trail and answers the organisation. */
export async function land(
  call: Call,
  batch: Batch,
  organisationId: number,
  done: Done,
): Promise<Answer> {
  const { tx } = batch;
  await notifyAccess(tx);
  const generation = await batch.land(done.action);
  await recordAudit(tx, { actor: operatorOf(call), organisationId, generation, ...done });
  const data = await loadOrganisations(tx, call.params['slug'] ?? '');
  return {
    status: 200,
    body: { data: data.map(organisationView) },
    headers: generation === null ? {} : { 'portcullis-generation': String(generation) },
  };
}

/** An operator acts as such here, whether or not for an organisation. */
export function operatorOf({ person, source, requestId }: Call): Actor {
  if (person === null) throw new Error('an operator row was reached without a person');
  return personActor({ person: { ...person, isActing: true }, source, requestId });
}

/** Others wrote at the same time: agents, or a release that does not take the lock. */
function explain(error: unknown): unknown {
  if (constraintOf(error) !== 'holdings_one_holder') return error;
  return invalidField('/prefix', 'Another organisation was given it at the same time: look again.');
}
