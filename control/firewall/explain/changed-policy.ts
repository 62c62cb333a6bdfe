import { sql } from 'kysely';
import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { Tx } from '../../db/database.ts';
import { loadChangedPolicy } from '../../fleet/policies/policies.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { familyOf } from '@portcullis/core/firewall/rules/content.ts';
import type { AddressState } from '../objects.ts';
import { replacementOf } from '../writes/replacement.ts';
import { ownObjects, ownTuples, planOwn, stateAfter } from '../writes/own-objects.ts';
import { readFilters, readRules, resolveOf } from '../writes/request.ts';
import * as messages from '../writes/messages.ts';

type ChangeRequest = NonNullable<BodyOf<'explainPacket'>['change']>;

/** The policy of an address as a change would make it. */
export interface ChangedPolicy {
  readonly policy: Policy;
  /** The list of sources that are blocked on the address itself, if the change names them. */
  readonly blocked: { readonly name: string; readonly sources: readonly string[] } | null;
}

/** The accepted policy with a change that is stored nowhere. Throws what the writes of the change would. */
export async function changePolicy(
  tx: Tx,
  call: AddressCall,
  state: AddressState,
  change: ChangeRequest,
): Promise<ChangedPolicy> {
  const { rules, filters } = replacementOf(change);
  const named = await resolveOf(tx, call, rules);
  const planned = await planOwn(
    tx,
    call,
    { state },
    {
      cause: 'address.replace',
      rules: readRules(call, rules, named),
      filters: readFilters(call, filters, ownObjects({ state }).filters),
      message: messages.addressReplaced,
    },
  );
  const { after } = await loadChangedPolicy(tx, call.params.ip, {
    holdingId: state.holdingId,
    own: ownTuples(stateAfter(state, planned)),
    ...(change.default !== undefined && { default: change.default }),
  });
  if (change.blocked === undefined) return { policy: after, blocked: null };
  const sources = mergeCidrs(change.blocked.map((text, at) => readSource(call, text, at)));
  const name = await readSetName(tx, call, state);
  const others = after.blocked.filter((one) => one !== name);
  const blocked = sources.length === 0 ? others : [...others, name].toSorted();
  return { policy: { ...after, blocked }, blocked: { name, sources: sources.map(formatCidr) } };
}

/** Source sets with the list of the change. */
export function withBlockedSet(sets: SourceSets, { blocked }: ChangedPolicy): SourceSets {
  if (blocked === null) return sets;
  return { ...sets, sets: { ...sets.sets, [blocked.name]: blocked.sources } };
}

function readSource({ params: { ip } }: AddressCall, text: string, at: number) {
  const cidr = parseCidr(text);
  if (cidr.ok && cidr.value.family === familyOf(ip)) return cidr.value;
  const detail = cidr.ok ? 'is of the other family' : cidr.reason;
  throw new Problem('invalid_request', `The blocked source ${text} is not valid: ${detail}.`, {
    errors: [{ pointer: `/change/blocked/${at}`, detail }],
  });
}

async function readSetName(
  tx: Tx,
  { by: caller, params: { ip } }: AddressCall,
  state: AddressState,
): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select blocked_set(${caller.organisationId}, ${state.holdingId}, ${ip}::cidr) as name`.execute(
    tx,
  );
  const name = rows[0]?.name;
  if (name === undefined) throw new Error('a list of blocked sources has no name');
  return name;
}
