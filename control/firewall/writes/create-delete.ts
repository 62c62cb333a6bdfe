import type { Tx } from '../../db/database.ts';
import { isUnavailable } from '../../db/failure.ts';
import { isRetryable } from '../../http/operations/transaction.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { invalidField, Problem } from '../../problem.ts';
import { canonicalNote, type RuleNote } from '../notes/service.ts';
import { filterKey, ruleKey, type WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import {
  type AddressWriteScope,
  openWriteScope,
  type OwnObjects,
  ownObjects,
  type ServiceDeps,
  writeOwn,
  type Written,
} from './own-objects.ts';
import {
  type FilterRequest,
  lockNamedIn,
  type NamingRuleRequest,
  readFilterPorts,
  readRule,
  readRules,
  readSettings,
  requireAvailable,
  requireRuleCount,
  resolveOf,
  type RuleRequest,
  type SettingsRequest,
} from './request.ts';
import { loadManagedFilters } from '../store.ts';
import * as messages from './messages.ts';

interface NotedRuleRequest extends NamingRuleRequest {
  readonly note?: string | null;
  readonly tags?: readonly string[];
}

/** Creates one rule per port, in ascending order, all or none. Throws 502 when the database refuses them. */
export async function createRules(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  request: RuleRequest,
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const { rule, ports } = readRule(call, request);
  const rules = ports.map((port) => ({ ...rule, port }));
  try {
    const added = withRules(call, scope, {
      rules,
      detail: { ...rule, requested: ports.length },
      message: messages.rulesAccepted,
    });
    return await writeOwn(deps, tx, call, scope, added);
  } catch (error) {
    if (error instanceof Problem || isUnavailable(error) || isRetryable(error)) throw error;
    throw new Problem(
      'no_port_landed',
      'No port of this request could be stored, so nothing was created. Try again.',
      { cause: error },
    );
  }
}

/** Creates rules with their notes, all together or none. Throws what a single create refuses. */
export async function addNotedRules(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  requests: readonly NotedRuleRequest[],
): Promise<Written> {
  await lockNamedIn(tx, call, requests);
  const scope = await openWriteScope(tx, call);
  const added = await withNotedRules(tx, call, scope, requests);
  return writeOwn(deps, tx, call, scope, added);
}

/** The own objects of an address with these rules too. */
export async function withNotedRules(
  tx: Tx,
  call: AddressCall,
  scope: Pick<AddressWriteScope, 'state'>,
  requests: readonly NotedRuleRequest[],
): Promise<OwnObjects> {
  const named = await resolveOf(tx, call, requests);
  const rules = readRules(call, requests, named);
  const notes = new Map<string, RuleNote>();
  for (const request of requests) {
    const note = canonicalNote({ note: request.note ?? null, tags: request.tags ?? [] });
    for (const rule of readRules(call, [request], named)) notes.set(ruleKey(rule), note);
  }
  return withRules(call, scope, {
    rules,
    isMeasured: true,
    message: messages.addressReplaced,
    noteOf: (rule) => notes.get(ruleKey(rule)) ?? null,
  });
}

function withRules(
  call: AddressCall,
  scope: Pick<AddressWriteScope, 'state'>,
  added: Pick<OwnObjects, 'rules' | 'detail' | 'message' | 'isMeasured' | 'noteOf'>,
): OwnObjects {
  const { rules, filters } = ownObjects(scope);
  refuseExisting(scope, added.rules);
  requireRuleCount(call, scope.state.rules.length, added.rules.length);
  return { ...added, cause: 'rule.create', rules: [...rules, ...added.rules], filters };
}

function refuseExisting(
  scope: Pick<AddressWriteScope, 'state'>,
  rules: readonly WantedRule[],
): void {
  const refs = new Set(ownObjects(scope).rules.map(({ ref }) => ref));
  const taken = rules.find(({ ref }) => ref && refs.has(ref));
  if (taken !== undefined) throw new Problem('rule_exists', messages.refExists(taken.ref ?? ''));
  const there = new Set(scope.state.rules.map(ruleKey));
  const equal = rules.filter((rule) => there.has(ruleKey(rule)));
  if (equal.length === 0) return;
  const ports = new Set(equal.flatMap(({ port }) => port ?? []));
  throw new Problem('rule_exists', messages.ruleExists([...ports].toSorted((a, b) => a - b)));
}

/** Deletes own rules by id. Ids not on this address are skipped; one of a group refuses the whole request. */
export async function deleteRulesById(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  wanted: readonly number[],
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const named = new Set(wanted);
  const found = scope.state.rules.filter((rule) => named.has(rule.id));
  for (const { id, group } of found) {
    if (group !== null) {
      throw new Problem('managed_by_group', messages.ownedByGroup(group, 'rule', String(id)));
    }
  }
  const missing = [...named].filter((id) => !found.some((rule) => rule.id === id));
  const { rules, filters } = ownObjects(scope);
  return writeOwn(deps, tx, call, scope, {
    cause: 'rule.delete',
    detail: { requested: named.size },
    rules: rules.filter(({ id }) => !named.has(id)),
    filters,
    message: (change) => messages.rulesDeleted(found.length, missing, change),
  });
}

/** Creates one filter per port, all or none. */
export async function createFilters(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  request: FilterRequest,
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  return writeOwn(deps, tx, call, scope, await withFilters(tx, call, scope, request));
}

/** The own objects of an address with these filters too. */
export async function withFilters(
  tx: Tx,
  call: AddressCall,
  scope: Pick<AddressWriteScope, 'state'>,
  request: FilterRequest,
): Promise<OwnObjects> {
  const type = requireAvailable(request.type, await loadManagedFilters(tx, scope.state.holdingId));
  const ports = readFilterPorts(call, request.port);
  const there = new Set(scope.state.filters.map(filterKey));
  const equal = ports.filter((port) => there.has(filterKey({ type, port })));
  if (equal.length > 0) throw new Problem('filter_exists', messages.filterExists(equal));
  const { rules, filters } = ownObjects(scope);
  return {
    cause: 'filter.create',
    detail: { type, ports },
    rules,
    filters: [...filters, ...ports.map((port) => ({ type, port }))],
    message: messages.filtersAccepted,
  };
}

/** Deletes own filters by key. Keys not on this address are skipped; one of a group refuses the whole request. */
export async function deleteFiltersByKey(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  wanted: readonly string[],
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const named = new Set(wanted);
  const found = scope.state.filters.filter((filter) => named.has(filterKey(filter)));
  for (const filter of found) {
    if (filter.group !== null) {
      throw new Problem(
        'managed_by_group',
        messages.ownedByGroup(filter.group, 'filter', filterKey(filter)),
      );
    }
  }
  const missing = [...named].filter((key) => !found.some((filter) => filterKey(filter) === key));
  const { rules, filters } = ownObjects(scope);
  return writeOwn(deps, tx, call, scope, {
    cause: 'filter.delete',
    detail: { requested: named.size },
    rules,
    filters: filters.filter((filter) => !named.has(filterKey(filter))),
    message: (change) => messages.filtersDeleted(found.length, missing, change),
  });
}

/** Sets what own filters let through. Throws when a key is none of an own filter, or a filter cannot have a setting. */
export async function setFilterSettings(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  request: { readonly keys: readonly string[]; readonly settings: SettingsRequest },
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const named = new Set(request.keys);
  for (const [index, key] of request.keys.entries()) {
    const found = scope.state.filters.filter((filter) => filterKey(filter) === key);
    if (found.some(({ group }) => group === null)) continue;
    const owner = found[0]?.group ?? null;
    if (owner !== null) {
      throw new Problem('managed_by_group', messages.ownedByGroup(owner, 'filter', key));
    }
    throw invalidField(`/keys/${index}`, 'This address has no such filter: read it again.');
  }
  const { rules, filters } = ownObjects(scope);
  return writeOwn(deps, tx, call, scope, {
    cause: 'filter.set',
    detail: { keys: request.keys, settings: request.settings },
    rules,
    filters: filters.map((filter) =>
      named.has(filterKey(filter))
        ? { ...filter, settings: readSettings(filter.type, request.settings, '/settings') }
        : filter,
    ),
    isMeasured: true,
    message: messages.settingsAccepted,
  });
}
