import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import { sentMarks } from '@portcullis/core/firewall/rules/marks.ts';
import type { Tx } from '../../db/database.ts';
import { sameState } from '../../http/operations/etag.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { replaceableState } from '../accepted.ts';
import { loadAddress } from '../store.ts';
import { requireConfiguredWith } from './configured.ts';
import * as messages from './messages.ts';
import {
  type AddressWriteScope,
  answerOf,
  countOwn,
  NOTHING,
  openWriteScope,
  ownObjects,
  type OwnObjects,
  planOwn,
  type ServiceDeps,
  writeOwn,
  type Written,
} from './own-objects.ts';
import {
  lockNamedIn,
  type NamingRuleRequest,
  readFilters,
  readRules,
  resolveOf,
  type SetFilterRequest,
} from './request.ts';
import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import { portOf } from '../named-ports/index.ts';

export interface Replacement {
  readonly rules: readonly NamingRuleRequest[];
  readonly filters: readonly SetFilterRequest[];
  /** The default that a dry run evaluates with; null: the present one. */
  readonly default?: DefaultAction | null;
}

/** The replaced part of the accepted view: own objects that are not deleted, with ports as expressions. */
export function replacementOf(
  body: Pick<BodyOf<'replaceAddress'>, 'rules' | 'filters' | 'default'>,
): Replacement {
  const isOwn = (one: { readonly managed_by_group?: unknown; readonly status?: string }): boolean =>
    (one.managed_by_group ?? null) === null && one.status !== 'going';
  const fallback = (['accept', 'deny'] as const).find((one) => one === body.default);
  return {
    default: fallback ?? null,
    rules: body.rules.filter(isOwn).map((rule) => ({
      action: rule.action,
      protocol: rule.protocol,
      source_ip: rule.source_ip ?? null,
      ...sentMarks(rule),
      ...portOf(rule),
    })),
    filters: body.filters.filter(isOwn).map(({ type, port, settings = null }) => ({
      type,
      port: String(port),
      settings,
    })),
  };
}

/**
 * Replaces the own rules and filters of an address by the smallest difference, in one transaction. Unchanged objects
 * keep their ids. Throws 412 when `If-Match` names another state.
 */
export async function replaceAddress(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  request: Replacement,
): Promise<Written> {
  await lockNamedIn(tx, call, request.rules);
  const scope = await openWriteScope(tx, call);
  const wanted = await readReplacement(tx, call, scope, request);
  return writeOwn(deps, tx, call, scope, { ...wanted, message: messages.addressReplaced });
}

async function readReplacement(
  tx: Tx,
  call: AddressCall,
  scope: Pick<AddressWriteScope, 'state'>,
  request: Replacement,
): Promise<Omit<OwnObjects, 'message'>> {
  const named = await resolveOf(tx, call, request.rules);
  const rules = readRules(call, request.rules, named);
  const filters = readFilters(call, request.filters, ownObjects(scope).filters);
  requireUnchanged(call, scope);
  return { cause: 'address.replace', rules, filters, isMeasured: true };
}

/** Plans what `replaceAddress` would do, over a snapshot that locks nothing. Throws what it would. */
export async function planReplacement(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  request: Replacement,
): Promise<Written> {
  const state = await loadAddress(tx, 'accepted', call.by, call.params.ip);
  if (state === null) throw notHeld();
  const asked = await readReplacement(tx, call, { state }, request);
  const wanted = { ...asked, isMeasured: false, message: messages.replacementPlanned };
  const planned = await planOwn(tx, call, { state }, wanted);
  if (countOwn(ownObjects({ state })) === 0 && countOwn(wanted) > 0) {
    await requireConfiguredWith(tx, call.by.organisationId, { targets: [call.params.ip] });
  }
  // The default that the caller sets along with it decides what has no effect.
  const after = { ...state, default: request.default ?? state.default };
  const answer = await answerOf(deps, tx, call, { state: after, ...planned });
  return { ...answer, created: NOTHING, deleted: NOTHING, generation: state.acceptedGeneration };
}

function requireUnchanged(call: AddressCall, scope: Pick<AddressWriteScope, 'state'>): void {
  if (call.ifMatch === null || sameState(call.ifMatch, replaceableState(scope.state))) return;
  throw new Problem(
    'precondition_failed',
    'The address has changed since it was read. Read it again, and send the new ETag in If-Match.',
  );
}
