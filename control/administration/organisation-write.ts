import { notifyAccess, operatorActor, recordAudit } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Answer, OperatorCall } from '../http/operations/operation.ts';
import { operate } from '../operator/index.ts';
import { Problem } from '../problem.ts';
import { loadOrganisations } from './store.ts';
import { organisationView } from './views.ts';

/** Actions that an operator did, for the audit trail. */
export interface Done {
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** The object that was made, by its id; absent: nothing that has one. */
  readonly made?: { readonly id: number };
}

/** The organisation of the path; a write to what the fleet file owns is refused by the batch. */
export interface Written {
  readonly batch: Batch;
  readonly organisationId: number;
  readonly owner: Owner;
}

/** A request about the organisation of the path. */
export type OrganisationCall = OperatorCall<{ readonly slug: string }>;

/** A change of an organisation by an operator: one transaction, one generation, audited. Answers it as it is then. */
export async function writeOrganisation(
  call: OrganisationCall,
  tx: Tx,
  change: (written: Written) => Promise<Done>,
  status: 200 | 201 = 200,
): Promise<Answer> {
  return operate(tx, async (batch) => {
    const { id, owner } = await requireOrganisation(tx, call.params.slug);
    const done = await change({ batch, organisationId: id, owner });
    return { ...(await finishWrite(call, batch, id, done)), status };
  });
}

export async function requireOrganisation(
  tx: Db | Tx,
  slug: string,
): Promise<Awaited<ReturnType<typeof loadOrganisations>>[number]> {
  const [organisation] = await loadOrganisations(tx, { slug });
  if (organisation !== undefined) return organisation;
  throw new Problem('not_found', `There is no organisation "${slug.slice(0, 63)}".`);
}

/** Takes the generation, writes the audit trail and answers the organisation. */
export async function finishWrite(
  call: OrganisationCall,
  batch: Batch,
  organisationId: number,
  { made, ...done }: Done,
): Promise<Answer> {
  const { tx } = batch;
  await notifyAccess(tx);
  const generation = await batch.takeGeneration(done.action);
  await recordAudit(tx, { actor: operatorActor(call), organisationId, generation, ...done });
  const data = await loadOrganisations(tx, { slug: call.params.slug });
  return {
    status: 200,
    body: { data: data.map(organisationView), ...(made && { made }) },
    headers: generation === null ? {} : { 'portcullis-generation': String(generation) },
  };
}
