import type { Tx } from '../../db/database.ts';
import { sameState } from '../../http/operations/etag.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { replaceableState } from '../accepted.ts';
import { explainNewRules } from './no-effect.ts';
import { type FilterRequest, readFilterPorts, requireAvailable } from './filters.ts';
import { requireFilterCount, requireRuleCount } from './limits.ts';
import * as messages from './messages.ts';
import { type PortMention, type ResolvedPort, resolvePorts } from '../named-ports/index.ts';
import {
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleIdentity,
  ruleKey,
} from '../objects.ts';
import { type NamingRuleRequest, type Outcome, readRule } from './rules.ts';
import {
  eventOf,
  leaveWriteScope,
  markConfigured,
  openWriteScope,
  type ServiceDeps,
  type AddressWriteScope,
} from './address-write.ts';
import { landChange } from './land.ts';
import { insertNotes, type RuleNote } from '../notes/service.ts';
import { loadManagedFilters } from '../store.ts';

export interface Replacement {
  readonly rules: readonly NamingRuleRequest[];
  readonly filters: readonly FilterRequest[];
}
export interface Replaced extends Outcome {
  readonly created: { readonly rules: readonly number[]; readonly filters: readonly string[] };
  readonly deleted: { readonly rules: readonly number[]; readonly filters: readonly string[] };
  readonly unchanged: number;
}

/**
 * Replaces the own rules and filters of an address by the smallest difference, in one transaction. Unchanged objects
 * keep their ids. Throws 412 when `If-Match` names another state.
 */
export async function replaceAddress(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  request: Replacement,
): Promise<Replaced> {
  const scope = await openWriteScope(deps, tx, call);
  const rules = readRules(call, request.rules, await resolveOf(tx, call, request.rules));
  const filters = readFilters(call, request.filters);
  requireUnchanged(call, scope);
  return writeOwn(deps, tx, call, scope, { cause: 'address.replace', rules, filters });
}

/** All own objects that an address shall have. */
export interface OwnObjects {
  /** For the audit trail and operators: `address.replace`. */
  readonly cause: string;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly rules: readonly RuleContent[];
  readonly filters: readonly FilterContent[];
  /** Notes of the rules that are created; null or absent: none. */
  readonly noteOf?: (rule: RuleContent) => RuleNote | null;
}

/** Makes the own objects of a locked address those, by the smallest difference. Throws what a single write refuses. */
export async function writeOwn(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  scope: AddressWriteScope,
  wanted: OwnObjects,
): Promise<Replaced> {
  const change = {
    rules: difference(scope.state.rules, wanted.rules, ruleIdentity, ruleKey),
    filters: difference(scope.state.filters, wanted.filters, filterKey, filterKey),
  };
  await refuseImpossible(tx, call, scope, change);
  return applyDifference(deps, tx, call, { scope, change, wanted });
}

interface Difference<T, Stored> {
  readonly created: readonly T[];
  readonly deleted: readonly (Stored & { readonly id: number })[];
  /** Requested objects that a group already has on the address. */
  readonly grouped: readonly T[];
}
interface Change {
  readonly rules: Difference<RuleContent, RuleContent>;
  readonly filters: Difference<FilterContent, FilterContent>;
}

function difference<T, Stored extends T & { readonly id: number; readonly group: unknown }>(
  there: readonly Stored[],
  wanted: readonly T[],
  identity: (object: T) => string,
  effect: (object: T) => string,
): Difference<T, Stored> {
  const own = new Set(there.filter(({ group }) => group === null).map(identity));
  const grouped = new Set(there.filter(({ group }) => group !== null).map(effect));
  const identities = new Set(wanted.map(identity));
  return {
    created: wanted.filter((object) => !own.has(identity(object))),
    deleted: there.filter((object) => object.group === null && !identities.has(identity(object))),
    grouped: wanted.filter((object) => grouped.has(effect(object))),
  };
}

function requireUnchanged(call: Call, scope: AddressWriteScope): void {
  if (call.ifMatch === null || sameState(call.ifMatch, replaceableState(scope.state))) return;
  throw new Problem(
    'precondition_failed',
    'The address has changed since it was read. Read it again, and send the new ETag in If-Match.',
  );
}

/** The same refusals as for single writes, before anything is written. */
async function refuseImpossible(
  tx: Tx,
  call: Call,
  scope: AddressWriteScope,
  { rules, filters }: Change,
): Promise<void> {
  if (rules.grouped.length > 0) {
    const ports = rules.grouped.flatMap(({ port }) => port ?? []);
    throw new Problem(
      'rule_exists',
      messages.ruleExists([...new Set(ports)].toSorted((a, b) => a - b)),
    );
  }
  if (filters.grouped.length > 0) {
    throw new Problem(
      'filter_exists',
      messages.filterExists(filters.grouped.map(({ port }) => port)),
    );
  }
  if (filters.created.length > 0) {
    const managed = await loadManagedFilters(tx, scope.state.holdingId);
    for (const { type } of filters.created) requireAvailable(type, managed);
  }
  // A limit that was lowered below the current count must not prevent deletions.
  const { rules: ruleRows, filters: filterRows } = scope.state;
  if (rules.created.length > 0) {
    requireRuleCount(call, ruleRows.length - rules.deleted.length, rules.created.length);
  }
  if (filters.created.length > 0) {
    requireFilterCount(call, filterRows.length - filters.deleted.length, filters.created.length);
  }
}

async function applyDifference(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  { scope, change, wanted }: { scope: AddressWriteScope; change: Change; wanted: OwnObjects },
): Promise<Replaced> {
  const { rules, filters } = change;
  const { enforcement } = scope.state;
  const counts = {
    created: rules.created.length + filters.created.length,
    deleted: rules.deleted.length + filters.deleted.length,
  };
  const gone = new Set(rules.deleted.map(({ id }) => id));
  const staying = scope.state.rules.filter(({ id }) => !gone.has(id));
  const noEffect = explainNewRules({ ...scope.state, rules: staying }, rules.created);
  const message = messages.addressReplaced(
    { ...counts, filtersCreated: filters.created.length > 0 },
    { enforcement, noEffect },
  );
  const keys = { created: filters.created.map(filterKey), deleted: filters.deleted.map(filterKey) };
  const deletedIds = rules.deleted.map(({ id }) => id).toSorted((a, b) => a - b);
  const count = wanted.rules.length + wanted.filters.length;
  const answer = { unchanged: count - counts.created, enforcement, message };
  if (counts.created + counts.deleted === 0) {
    const nothing = { rules: [], filters: [] };
    return {
      ...answer,
      created: nothing,
      deleted: nothing,
      generation: await leaveWriteScope(tx, scope),
    };
  }
  await markConfigured(tx, call, scope, count > 0);
  const deleted = { rules: deletedIds, filters: keys.deleted };
  const { noteOf } = wanted;
  const { generation, ids } = await landChange(tx, call, scope.address.id, {
    cause: wanted.cause,
    detail: { ...wanted.detail, created: keys.created, deleted },
    createRules: rules.created,
    createFilters: filters.created,
    deleteRules: deletedIds,
    deleteFilters: filters.deleted.map((filter) => filter.id),
  });
  if (noteOf !== undefined) await writeNotes(tx, ids, rules.created.map(noteOf));
  const created = { rules: ids, filters: keys.created };
  call.afterCommit(() => deps.events.addressReplaced({ ...eventOf(call, generation), ...counts }));
  return { ...answer, created, deleted, generation };
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

/** The present numbers of the ports that rules name. */
export function resolveOf(
  tx: Tx,
  call: Call,
  requests: readonly NamingRuleRequest[],
): Promise<ReadonlyMap<string, ResolvedPort>> {
  const mentions = requests.flatMap(({ named_port: text }, index): PortMention[] =>
    text === null || text === undefined ? [] : [{ text, pointer: `/rules/${index}/named_port` }],
  );
  return resolvePorts(tx, call, mentions, { locked: true });
}

/** Expands the rules of the request by port. Checks the count as it grows, before expanding all ranges. */
export function readRules(
  call: Call,
  requests: readonly NamingRuleRequest[],
  named: ReadonlyMap<string, ResolvedPort>,
): RuleContent[] {
  const rules: RuleContent[] = [];
  const seen = new Set<string>();
  for (const [index, request] of requests.entries()) {
    const pointer = `/rules/${index}`;
    const namedPort = named.get(request.named_port ?? '') ?? null;
    const numbered = namedPort && { ...request, destination_port: String(namedPort.port) };
    const { rule, ports } = readRule(call, numbered ?? request, pointer);
    requireRuleCount(call, 0, rules.length + ports.length);
    for (const port of ports) {
      rules.push(once({ ...rule, port, namedPort }, ruleIdentity, seen, pointer));
    }
  }
  return rules;
}

function readFilters(call: Call, requests: readonly FilterRequest[]): FilterContent[] {
  const filters: FilterContent[] = [];
  const seen = new Set<string>();
  for (const [index, { type, port: text }] of requests.entries()) {
    const pointer = `/filters/${index}`;
    const ports = readFilterPorts(call, text, `${pointer}/port`);
    requireFilterCount(call, 0, filters.length + ports.length);
    for (const port of ports) filters.push(once({ type, port }, filterKey, seen, pointer));
  }
  return filters;
}

function once<T>(object: T, name: (object: T) => string, seen: Set<string>, pointer: string): T {
  const text = name(object);
  if (seen.has(text)) {
    throw new Problem(
      'invalid_request',
      'The request names the same rule or filter twice; leave one of them out.',
      {
        errors: [{ pointer, detail: 'is named earlier in the request' }],
      },
    );
  }
  seen.add(text);
  return object;
}
