import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { findHolding, keyActor, recordAudit } from '../../access/index.ts';
import type { ContentDifference } from '@portcullis/core/firewall/rules/describe.ts';
import {
  type Difference,
  difference,
  isDifferent,
} from '@portcullis/core/firewall/rules/difference.ts';
import { explainNewRules } from '@portcullis/core/firewall/rules/no-effect.ts';
import type { Tx } from '../../db/database.ts';
import type { ChangedAddress } from '../../fleet/policies/policies.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { explainBehindClosed } from './behind-closed.ts';
import type { SourceSetLoader } from '../explain/policy-sets.ts';
import { requireConfiguredLimit } from './configured.ts';
import {
  type FilterContent,
  filterIdentity,
  filterKey,
  type RuleContent,
  ruleIdentity,
  ruleKey,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import { changedMarks, type Marks, NO_MARKS } from '@portcullis/core/firewall/rules/marks.ts';
import type { AddressState, Enforcement, StoredFilter, StoredRule } from '../objects.ts';
import {
  discardAddress,
  insertAddress,
  loadAddress,
  loadManagedFilters,
  lockAddress,
  type LockedAddress,
  setConfigured,
} from '../store.ts';
import { Problem } from '../../problem.ts';
import { insertNotes, type RuleNote } from '../notes/service.ts';
import { createdMarks, type MarkedRule, withUniqueRefs, writeMarks } from './marks.ts';
import { measuredPropagation } from './propagation.ts';
import { writeChange } from './write-change.ts';
import { requireAvailable, requireFilterCount, requireRuleCount } from './request.ts';
import * as messages from './messages.ts';

/** Events of an address: the log line and the metric of a write together. */
export interface FirewallEvents {
  addressChanged(event: WriteEvent): void;
}

/** `cause` as in the audit trail: `rule.create`. */
type WriteEvent = ReturnType<typeof eventOf>;

export function createFirewallEvents(registry: Registry, log: Logger): FirewallEvents {
  const objects = new Counter({
    name: 'portcullis_firewall_objects_total',
    help: 'Rules and filters written by callers, by kind and change.',
    labelNames: ['kind', 'change'],
    registers: [registry],
  });
  return {
    addressChanged(event) {
      objects.inc({ kind: 'rule', change: 'created' }, event.rulesCreated);
      objects.inc({ kind: 'rule', change: 'deleted' }, event.rulesDeleted);
      objects.inc({ kind: 'filter', change: 'created' }, event.filtersCreated);
      objects.inc({ kind: 'filter', change: 'deleted' }, event.filtersDeleted);
      log.info(event, 'address changed');
    },
  };
}

export interface ServiceDeps extends SourceSetLoader {
  readonly events: FirewallEvents;
}

/** An address that is locked for a write, with its accepted state. */
export interface AddressWriteScope {
  readonly address: LockedAddress;
  /** The state that is accepted before the write. */
  readonly state: AddressState;
}

/**
 * Locks the address's row, which serialises writes to it, and reads the accepted state. Throws 404 when the caller does
 * not hold the address, or the holding ended during the wait for the lock.
 */
export async function openWriteScope(tx: Tx, call: AddressCall): Promise<AddressWriteScope> {
  const { by: caller, params } = call;
  const { ip } = params;
  const address = (await lockAddress(tx, caller, ip)) ?? (await addAddress(tx, call));
  const state = await loadAddress(tx, 'accepted', caller, ip);
  if (state === null || state.holdingId !== address.holdingId) throw notHeld();
  return { address, state };
}

async function addAddress(
  tx: Tx,
  { by: caller, params: { ip } }: AddressCall,
): Promise<LockedAddress> {
  const holding = await findHolding(tx, caller, ip);
  const address = holding && (await insertAddress(tx, caller, { holdingId: holding.id, ip }));
  if (address === null) throw notHeld();
  return address;
}

/** Ends a write without effect, leaves no trace, and returns the newest generation. */
async function leaveWriteScope(tx: Tx, scope: AddressWriteScope): Promise<number> {
  await discardAddress(tx, scope.address);
  return currentGeneration(tx);
}

/**
 * Sets `configured` to whether the address has own objects. The first object of an address
 * counts against the organisation's `configured_addresses`; throws `limit_exceeded`.
 */
async function markConfigured(
  tx: Tx,
  call: AddressCall,
  scope: AddressWriteScope,
  hasObjects: boolean,
): Promise<void> {
  if (scope.address.configured === hasObjects) return;
  await setConfigured(tx, scope.address.id, hasObjects);
  if (hasObjects) await requireConfiguredLimit(tx, call.by.organisationId);
}

/** The effect of a write on the own objects of an address. */
export interface Written {
  readonly generation: number;
  readonly enforcement: Enforcement;
  readonly message: string;
  readonly created: { readonly rules: readonly number[]; readonly filters: readonly string[] };
  readonly deleted: { readonly rules: readonly number[]; readonly filters: readonly string[] };
  readonly unchanged: number;
  readonly difference: ContentDifference;
  /** Sentences on new rules that change no verdict, each with its rules. */
  readonly notes: () => readonly string[];
}

/** The names of what a write without effect created or deleted. */
export const NOTHING = { rules: [], filters: [] };

export function countOwn({ rules, filters }: Pick<OwnObjects, 'rules' | 'filters'>): number {
  return rules.length + filters.length;
}

/** All own objects that an address shall have. */
export interface OwnObjects {
  /** For the audit trail and operators: `address.replace`. */
  readonly cause: string;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly rules: readonly WantedRule[];
  readonly filters: readonly FilterContent[];
  /** Notes of the rules that are created; null or absent: none. */
  readonly noteOf?: (rule: RuleContent) => RuleNote | null;
  /** Its message says how long it takes here, which those of `/api/v1` do not. */
  readonly isMeasured?: boolean;
  /** For the caller, of what is done. */
  readonly message: (change: messages.Change) => string;
}

/** The objects of an address that belong to no group. */
export function ownObjects({ state }: Pick<AddressWriteScope, 'state'>): {
  readonly rules: readonly StoredRule[];
  readonly filters: readonly StoredFilter[];
} {
  const isOwn = ({ group }: { readonly group: unknown }): boolean => group === null;
  return { rules: state.rules.filter(isOwn), filters: state.filters.filter(isOwn) };
}

/** The own objects as policies are built of them. */
export function ownTuples(state: AddressState): NonNullable<ChangedAddress['own']> {
  const { rules, filters } = ownObjects({ state });
  return {
    rules: rules.map(({ id, action, protocol, source, port }) => [
      id,
      action,
      protocol,
      source,
      port,
    ]),
    filters: filters.map(({ id, type, port, settings = {} }) => [id, type, port, settings]),
  };
}

/** Makes the own objects of a locked address those, by the smallest difference. Throws what a single write refuses. */
export async function writeOwn(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  scope: AddressWriteScope,
  asked: OwnObjects,
): Promise<Written> {
  return applyDifference(deps, tx, call, scope, await planOwn(tx, call, scope, asked));
}

/** A change of own objects that nothing refuses but the organisation's `configured_addresses`. */
export interface PlannedOwn {
  readonly change: Change;
  readonly wanted: OwnObjects;
}

/** The smallest difference to those own objects. Writes and locks nothing. Throws what a single write refuses. */
export async function planOwn(
  tx: Tx,
  call: AddressCall,
  { state }: Pick<AddressWriteScope, 'state'>,
  asked: OwnObjects,
): Promise<PlannedOwn> {
  const wanted = { ...asked, rules: withUniqueRefs(asked.rules) };
  const own = ownObjects({ state });
  const rules = difference(own.rules, wanted.rules, ruleIdentity);
  const filters = difference(own.filters, wanted.filters, filterIdentity);
  const change = { rules, filters, marked: changedMarks(rules.kept, wanted.rules) };
  refuseGrouped(state, wanted);
  await refuseImpossible(tx, call, state, change);
  return { change, wanted };
}

/** Pure: the accepted state after a change, for plans in memory. New objects have ids above all that are stored. */
export function stateAfter(state: AddressState, { change }: PlannedOwn): AddressState {
  const firstId = 1 + Math.max(UNSTORED_ID, ...[...state.rules, ...state.filters].map(idOf));
  const deletedRules = new Set(change.rules.deleted.map(idOf));
  const deletedFilters = new Set(change.filters.deleted.map(idOf));
  const marks = new Map(change.marked.map((one) => [one.stored.id, one.marks]));
  return {
    ...state,
    rules: [
      ...state.rules
        .filter(({ id }) => !deletedRules.has(id))
        .map((rule) => ({ ...rule, ...marks.get(rule.id) })),
      ...change.rules.created.map((rule, at): StoredRule => {
        const namedPort = rule.namedPort ? { shown: '', ...rule.namedPort } : null;
        return { ...NO_MARKS, ...rule, id: firstId + at, group: null, namedPort };
      }),
    ],
    filters: [
      ...state.filters.filter(({ id }) => !deletedFilters.has(id)),
      ...change.filters.created.map((filter, at): StoredFilter => {
        return { ...filter, id: firstId + at, group: null };
      }),
    ],
  };
}

/** No sequence comes so far. */
const UNSTORED_ID = 2 ** 52;

function idOf({ id }: { readonly id: number }): number {
  return id;
}

interface Change extends ContentDifference {
  readonly rules: Difference<WantedRule, StoredRule>;
  readonly filters: Difference<FilterContent, StoredFilter>;
  readonly marked: readonly { readonly stored: StoredRule; readonly marks: Marks }[];
}

/** Refuses objects that do what one of a group on the address does. */
function refuseGrouped(state: AddressState, wanted: Pick<OwnObjects, 'rules' | 'filters'>): void {
  const isGrouped = ({ group }: { readonly group: unknown }): boolean => group !== null;
  const ruleKeys = new Set(state.rules.filter(isGrouped).map(ruleKey));
  const rules = wanted.rules.filter((rule) => ruleKeys.has(ruleKey(rule)));
  if (rules.length > 0) {
    const ports = new Set(rules.flatMap(({ port }) => port ?? []));
    throw new Problem('rule_exists', messages.ruleExists([...ports].toSorted((a, b) => a - b)));
  }
  const filterKeys = new Set(state.filters.filter(isGrouped).map(filterKey));
  const filters = wanted.filters.filter((filter) => filterKeys.has(filterKey(filter)));
  if (filters.length > 0) {
    throw new Problem('filter_exists', messages.filterExists(filters.map(({ port }) => port)));
  }
}

/** The same refusals as for single writes, before anything is written. */
async function refuseImpossible(
  tx: Tx,
  call: AddressCall,
  state: AddressState,
  { rules, filters }: Change,
): Promise<void> {
  if (filters.created.length > 0) {
    const managed = await loadManagedFilters(tx, state.holdingId);
    for (const { type } of filters.created) requireAvailable(type, managed);
  }
  // A limit that was lowered below the current count must not prevent deletions.
  const { rules: ruleRows, filters: filterRows } = state;
  if (rules.created.length > 0) {
    requireRuleCount(call, ruleRows.length - rules.deleted.length, rules.created.length);
  }
  if (filters.created.length > 0) {
    requireFilterCount(call, filterRows.length - filters.deleted.length, filters.created.length);
  }
}

/** A planned change of an address in a state. */
interface Placed extends PlannedOwn {
  readonly state: AddressState;
}

/** A change for its message. */
async function describeChange(
  deps: ServiceDeps,
  tx: Tx,
  { params: { ip } }: AddressCall,
  { state, change, wanted }: Placed,
): Promise<messages.Change> {
  const { rules, filters } = change;
  // A filter that gets other settings makes nobody reconnect.
  const replaced = new Set(filters.deleted.map(filterKey));
  return {
    marked: change.marked.length,
    created: rules.created.length + filters.created.length,
    deleted: rules.deleted.length + filters.deleted.length,
    filtersCreated: filters.created.some((filter) => !replaced.has(filterKey(filter))),
    enforcement: state.enforcement,
    noEffect: [
      ...explainCreated(state, change),
      ...(await explainBehindClosed(deps, tx, ip, filters.created, {
        holdingId: state.holdingId,
        own: ownTuples(stateAfter(state, { change, wanted })),
      })),
    ],
    propagation: wanted.isMeasured === true ? await measuredPropagation(tx) : '',
  };
}

/** The answer of a write, but for the names of what it created. */
export async function answerOf(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  placed: Placed,
): Promise<Omit<Written, 'created' | 'deleted' | 'generation'>> {
  const { state, change, wanted } = placed;
  const created = change.rules.created.length + change.filters.created.length;
  return {
    unchanged: countOwn(wanted) - created,
    enforcement: state.enforcement,
    message: wanted.message(await describeChange(deps, tx, call, placed)),
    difference: change,
    notes: () => explainCreated(state, change, { named: true }),
  };
}

async function applyDifference(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  scope: AddressWriteScope,
  { change, wanted }: PlannedOwn,
): Promise<Written> {
  const { rules, filters } = change;
  const marked = change.marked.map(({ stored, marks }) => ({
    id: stored.id,
    ...marks,
    replaces: null,
  }));
  const answer = await answerOf(deps, tx, call, { state: scope.state, change, wanted });
  if (!isDifferent(rules) && !isDifferent(filters)) {
    await markRules(tx, call, marked);
    const generation = await leaveWriteScope(tx, scope);
    return { ...answer, created: NOTHING, deleted: NOTHING, generation };
  }
  const count = countOwn(wanted);
  await markConfigured(tx, call, scope, count > 0);
  const keys = { created: filters.created.map(filterKey), deleted: filters.deleted.map(filterKey) };
  const deletedIds = rules.deleted.map(({ id }) => id).toSorted((a, b) => a - b);
  const deleted = { rules: deletedIds, filters: keys.deleted };
  const { generation, ids } = await writeChange(tx, call, scope.address.id, {
    cause: wanted.cause,
    detail: { ...wanted.detail, created: keys.created, deleted },
    createRules: rules.created,
    createFilters: filters.created,
    deleteRules: deletedIds,
    deleteFilters: filters.deleted.map((filter) => filter.id),
  });
  await writeMarks(tx, [...marked, ...createdMarks(ids, rules.created, rules.deleted)]);
  const { noteOf } = wanted;
  if (noteOf !== undefined) await writeNotes(tx, ids, rules.created.map(noteOf));
  const created = { rules: ids, filters: keys.created };
  const event = eventOf(call, { generation, cause: wanted.cause, rules, filters });
  call.afterCommit(() => deps.events.addressChanged(event));
  return { ...answer, created, deleted, generation };
}

/** Only names and ends of rules change: no edge gets anything else. */
async function markRules(tx: Tx, call: AddressCall, marked: readonly MarkedRule[]): Promise<void> {
  if (marked.length === 0) return;
  await writeMarks(tx, marked);
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId: call.by.organisationId,
    action: 'rule.mark',
    target: call.params.ip,
    detail: { ids: marked.map(({ id }) => id) },
    generation: null,
  });
}

function eventOf(
  { by: caller, params: { ip }, requestId }: AddressCall,
  {
    generation,
    cause,
    rules,
    filters,
  }: Pick<Change, 'rules' | 'filters'> & { generation: number; cause: string },
) {
  return {
    organisation: caller.organisation.slug,
    ip,
    generation,
    requestId,
    cause,
    rulesCreated: rules.created.length,
    rulesDeleted: rules.deleted.length,
    filtersCreated: filters.created.length,
    filtersDeleted: filters.deleted.length,
  };
}

function explainCreated(
  state: AddressState,
  { rules }: Change,
  how: Parameters<typeof explainNewRules>[2] = {},
): string[] {
  const deleted = new Set(rules.deleted.map(({ id }) => id));
  const staying = state.rules.filter(({ id }) => !deleted.has(id));
  return explainNewRules({ ...state, rules: staying }, rules.created, how);
}

async function writeNotes(
  tx: Tx,
  ids: readonly number[],
  notes: readonly (RuleNote | null)[],
): Promise<void> {
  const noted = ids.flatMap((id, at) => {
    const note = notes[at];
    return note === null || note === undefined ? [] : [{ id, ...note }];
  });
  await insertNotes(tx, noted);
}
