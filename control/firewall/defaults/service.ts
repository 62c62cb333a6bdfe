import { sql } from 'kysely';
import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import { formatCidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Tx } from '../../db/database.ts';
import { Batch, UNSTAMPED } from '../../fleet/batch.ts';
import type { Owner } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';
import { findAssignableHolding, lockHoldings } from '../groups/holdings.ts';
import { enforcementNote } from '../held-store.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';
import { keyActor, reachesNetwork, recordAudit } from '../../access/index.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import type { CallerCall } from '../../http/operations/operation.ts';
import { defaultSet } from '../writes/messages.ts';
import { measuredPropagation } from '../writes/propagation.ts';

/** An address or a prefix inside a holding; `target` with its length. */
interface DefaultTarget {
  readonly holdingId: number;
  readonly target: string;
}

/**
 * Sets the default of an address or a prefix, or removes it (`action` null). Returns whether that changed anything.
 * Throws a `Problem` when the default belongs to the other side.
 */
export async function setDefault(
  batch: Batch,
  { holdingId, target }: DefaultTarget,
  action: DefaultAction | null,
): Promise<boolean> {
  await lockHoldings(batch.tx, [holdingId]);
  const { current, isChanged } = await planDefault(batch, { holdingId, target }, action);
  if (!isChanged) return false;
  if (current !== undefined) await batch.end('default_actions', [current.id]);
  if (action !== null) await insertDefault(batch, { holdingId, target }, action);
  batch.touch(target);
  return true;
}

/** The default that stands for the target now, and whether that changes. Throws what refuses it; locks nothing. */
export async function planDefault(
  batch: Batch,
  { holdingId, target }: DefaultTarget,
  action: DefaultAction | null,
) {
  const { rows } = await sql<{ id: number; action: DefaultAction; owner: Owner }>`
    select id, action, owner from default_actions
     where holding_id = ${holdingId} and target = ${target}::cidr and deleted_generation is null`.execute(
    batch.tx,
  );
  const current = rows[0];
  if (current !== undefined) batch.requireOwn(current.owner, `The default of ${target}`);
  return { current, isChanged: (current?.action ?? null) !== action };
}

async function insertDefault(
  batch: Batch,
  { holdingId, target }: DefaultTarget,
  action: DefaultAction,
): Promise<void> {
  const { rows } = await sql<{ id: number; organisationId: number }>`
    insert into default_actions (holding_id, target, action, owner, created_generation)
    values (${holdingId}, ${target}, ${action}, ${batch.owner}, ${UNSTAMPED.created_generation})
    returning id, (select organisation_id from holdings where id = ${holdingId}) as "organisationId"
  `.execute(batch.tx);
  for (const { id, organisationId } of rows) {
    batch.begin('default_actions', [id]);
    await requireConfiguredLimit(batch.tx, organisationId);
  }
}

/** Finds the caller's holding that contains an address or a prefix (`shown`: canonical). Throws 404 and 422. */
export async function findHeldTarget(
  tx: Tx,
  caller: { readonly organisationId: number; readonly prefixes: readonly string[] | null },
  text: string,
): Promise<DefaultTarget & { readonly shown: string }> {
  const cidr = parseCidr(text);
  if (!cidr.ok) {
    throw new Problem('invalid_request', `The target is not valid: ${cidr.reason}.`, {
      errors: [{ pointer: '/target', detail: cidr.reason }],
    });
  }
  const target = formatCidr(cidr.value);
  const shown = formatNetwork(cidr.value);
  if (!reachesNetwork(caller.prefixes, cidr.value)) {
    throw new Problem('not_found', `The organisation does not hold ${shown}.`);
  }
  const holdingId = await findAssignableHolding(tx, caller.organisationId, target);
  return { target, holdingId, shown };
}

interface DefaultSet {
  /** A single address without its length. */
  readonly target: string;
  readonly generation: number;
  readonly message: string;
}

/** Sets or removes (null) the default of an address or a prefix that the caller holds. Throws 404 and 422. */
export async function setOwnDefault(
  tx: Tx,
  call: CallerCall,
  wanted: { readonly target: string; readonly default: DefaultAction | null },
): Promise<DefaultSet> {
  const { default: action } = wanted;
  const found = await findHeldTarget(tx, call.by, wanted.target);
  const { shown: target } = found;
  const batch = new Batch(tx, 'portal');
  const changed = await setDefault(batch, found, action);
  const message = defaultSet(target, action, {
    changed,
    propagation: changed ? await measuredPropagation(tx) : '',
  });
  const generation = await batch.takeGeneration('default.set');
  if (generation === null) return { target, message, generation: await currentGeneration(tx) };
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId: call.by.organisationId,
    action: 'default.set',
    target,
    detail: { default: action },
    generation,
  });
  const note = await enforcementNote(tx, call.by, target);
  return { target, message: message + note, generation };
}
