import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import { keyActor, recordAudit } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import type { Call } from '../../http/operations/operation.ts';
import { findDefaultTarget, setDefault } from '../defaults/service.ts';
import { defaultSet } from './messages.ts';

export interface DefaultSet {
  /** A single address without its length. */
  readonly target: string;
  readonly generation: number;
  readonly message: string;
}

/** Sets or removes (null) the default of an address or a prefix that the caller holds. Throws 404 and 422. */
export async function setOwnDefault(
  tx: Tx,
  call: Call,
  wanted: { readonly target: string; readonly default: DefaultAction | null },
): Promise<DefaultSet> {
  const { default: action } = wanted;
  const found = await findDefaultTarget(tx, call.caller, wanted.target);
  const { shown: target } = found;
  const batch = new Batch(tx, 'portal');
  const changed = await setDefault(batch, found, action);
  const message = defaultSet(target, action, changed);
  const generation = await batch.land('default.set');
  if (generation === null) return { target, message, generation: await currentGeneration(tx) };
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId: call.caller.organisationId,
    action: 'default.set',
    target,
    detail: { default: action },
    generation,
  });
  return { target, message, generation };
}
