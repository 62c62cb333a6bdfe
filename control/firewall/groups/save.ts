import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Batch } from '../../fleet/batch.ts';
import { Problem } from '../../problem.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';
import type { Conflict } from './conflicts.ts';
import {
  describeRule,
  expandRule,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleKey,
  type RuleText,
} from './content.ts';
import { findAssignableHolding, lockHoldings } from './holdings.ts';
import { countConfiguredIn, listGroups } from './read.ts';
import {
  changeContent,
  createGroups,
  findAllConflicts,
  renameGroup,
  requireGroup,
  requireTarget,
} from './service.ts';
import * as store from './store.ts';

/** A group as it shall be: what it has and this has not is taken out. */
export interface WantedGroup {
  readonly name: string;
  readonly rules: readonly RuleText[];
  readonly filters: readonly FilterContent[];
  /** Addresses and prefixes. */
  readonly targets: readonly string[];
}

export interface TargetChange {
  /** An address without its length. */
  readonly target: string;
  readonly change: 'assigned' | 'unassigned' | 'changed' | 'unchanged';
  readonly configuredAddresses: number;
  readonly rulesAdded: readonly string[];
  readonly rulesRemoved: readonly string[];
  readonly filtersAdded: readonly string[];
  readonly filtersRemoved: readonly string[];
}

export interface SavedGroup {
  readonly id: number;
  readonly changes: readonly TargetChange[];
  /** Not empty: the transaction must be rolled back. */
  readonly conflicts: readonly Conflict[];
}

interface Of {
  readonly organisationId: number;
  /** Null: a new group. */
  readonly groupId: number | null;
  readonly maxPorts: number;
}

/** Creates a group or makes an existing one as wanted, and says what that changes where and conflicts with. */
export async function saveGroup(batch: Batch, of: Of, wanted: WantedGroup): Promise<SavedGroup> {
  const content = readContent(wanted, of.maxPorts);
  const targets = [...new Set(wanted.targets.map(requireTarget))];
  const groupId = of.groupId ?? (await createEmpty(batch, of.organisationId, wanted.name));
  const group = await requireGroup(batch, groupId, of.organisationId);
  const [before] = await listGroups(batch.tx, of.organisationId, groupId);
  if (before === undefined) throw new Error('a group was locked and is not there');
  await renameGroup(batch, group, wanted.name);
  const rules = differenceOf(before.rules, content.rules, ruleKey);
  const filters = differenceOf(before.filters, content.filters, filterKey);
  const difference = { rules, filters };
  const assigned = await store.loadAssignments(batch.tx, groupId);
  const placed = await place(batch, of.organisationId, { groupId, targets, assigned });
  await changeContent(batch, groupId, {
    addRules: rules.added,
    addFilters: filters.added,
    removeRules: rules.removed.map(idOf),
    removeFilters: filters.removed.map(idOf),
  });
  if (isChanged(difference)) batch.touch(...assigned.map(({ target }) => target));
  const conflicts = placed.all.length === 0 ? [] : await findAllConflicts(batch, placed.all);
  if (placed.added.length > 0) await requireConfiguredLimit(batch.tx, of.organisationId);
  const changes = await describeChanges(batch, of.organisationId, {
    content,
    before,
    difference,
    placed,
  });
  return { id: groupId, changes, conflicts };
}

async function createEmpty(batch: Batch, organisationId: number, name: string): Promise<number> {
  const [id] = await createGroups(batch, [{ organisationId, name, rules: [], filters: [] }]);
  if (id === undefined) throw new Error('a group was created without an id');
  return id;
}

interface Content {
  readonly rules: readonly RuleContent[];
  readonly filters: readonly FilterContent[];
}

function readContent({ rules, filters }: WantedGroup, maxPorts: number): Content {
  const expanded = rules.flatMap((rule, index) => {
    const made = expandRule(rule, null, maxPorts);
    if (made.ok) return made.value;
    const errors = [{ pointer: `/rules/${index}/${made.field}`, detail: made.reason }];
    throw new Problem('invalid_request', `The rule is not valid: ${made.reason}.`, { errors });
  });
  refuseTwice(expanded.map(ruleKey), 'rule_exists', 'rule');
  refuseTwice(filters.map(filterKey), 'filter_exists', 'filter');
  return { rules: expanded, filters };
}

function refuseTwice(
  keys: readonly string[],
  code: 'rule_exists' | 'filter_exists',
  what: string,
): void {
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  if (twice !== undefined) {
    throw new Problem(code, `The group would have the same ${what} twice: ${twice}.`);
  }
}

interface Difference<T, Stored> {
  readonly added: readonly T[];
  readonly removed: readonly Stored[];
}
interface ContentDifference {
  readonly rules: Difference<RuleContent, RuleContent & { readonly id: number }>;
  readonly filters: Difference<FilterContent, FilterContent & { readonly id: number }>;
}

/** Sources of groups are stored with their length and read without it, so both are compared as networks. */
function differenceOf<T, Stored extends T>(
  there: readonly Stored[],
  wanted: readonly T[],
  keyOf: (one: T) => string,
): Difference<T, Stored> {
  const known = new Set(there.map((one) => keyOf(canonical(one))));
  const names = new Set(wanted.map((one) => keyOf(canonical(one))));
  return {
    added: wanted.filter((one) => !known.has(keyOf(canonical(one)))),
    removed: there.filter((one) => !names.has(keyOf(canonical(one)))),
  };
}

function canonical<T>(one: T): T {
  const { source } = one as { readonly source?: string | null };
  return typeof source === 'string' ? { ...one, source: shown(source) } : one;
}

function isChanged({ rules, filters }: ContentDifference): boolean {
  return [rules.added, rules.removed, filters.added, filters.removed].some(
    (list) => list.length > 0,
  );
}

interface Placed {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  readonly all: readonly store.Assignment[];
}

/** Assigns and unassigns. Locks all holdings first, in the order of their ids. */
async function place(
  batch: Batch,
  organisationId: number,
  {
    groupId,
    targets,
    assigned,
  }: {
    readonly groupId: number;
    readonly targets: readonly string[];
    readonly assigned: readonly store.AssignmentRecord[];
  },
): Promise<Placed> {
  const known = new Set(assigned.map(({ target }) => target));
  const added: store.Assignment[] = [];
  for (const target of targets.filter((one) => !known.has(one))) {
    const holdingId = await findAssignableHolding(batch.tx, organisationId, target);
    added.push({ groupId, holdingId, target });
  }
  const removed = assigned.filter(({ target }) => !targets.includes(target));
  const kept = assigned.filter(({ target }) => targets.includes(target));
  const all = [...kept.map((one) => ({ ...one, groupId })), ...added];
  await lockHoldings(batch.tx, [...new Set(all.map(({ holdingId }) => holdingId))]);
  await batch.end('group_assignments', removed.map(idOf));
  if (added.length > 0) await store.insertAssignments(batch, added);
  const targetsOf = (list: readonly { readonly target: string }[]) =>
    list.map(({ target }) => target);
  const touched = targetsOf([...added, ...removed]);
  if (touched.length > 0) batch.touch(...touched);
  return { added: targetsOf(added), removed: targetsOf(removed), kept: targetsOf(kept), all };
}

async function describeChanges(
  batch: Batch,
  organisationId: number,
  of: {
    readonly content: Content;
    readonly before: Content;
    readonly difference: ContentDifference;
    readonly placed: Placed;
  },
): Promise<TargetChange[]> {
  const { content, before, difference, placed } = of;
  const { added, removed, kept } = placed;
  const all = [...added, ...removed, ...kept];
  const counts = await countConfiguredIn(batch.tx, organisationId, all);
  const none = { rules: [], filters: [] };
  const one = (target: string, change: TargetChange['change'], plus: Content, minus: Content) => ({
    target: shown(target),
    change,
    configuredAddresses: counts.get(target) ?? 0,
    rulesAdded: plus.rules.map(describe),
    rulesRemoved: minus.rules.map(describe),
    filtersAdded: plus.filters.map(filterKey),
    filtersRemoved: minus.filters.map(filterKey),
  });
  const { rules, filters } = difference;
  const plus = { rules: rules.added, filters: filters.added };
  const minus = { rules: rules.removed, filters: filters.removed };
  const stays = isChanged(difference) ? 'changed' : 'unchanged';
  return [
    ...added.map((target) => one(target, 'assigned', content, none)),
    ...removed.map((target) => one(target, 'unassigned', none, before)),
    ...kept.map((target) => one(target, stays, plus, minus)),
  ];
}

function describe(rule: RuleContent): string {
  return describeRule(canonical(rule));
}

function shown(network: string): string {
  const parsed = parseCidr(network);
  return parsed.ok ? formatNetwork(parsed.value) : network;
}

function idOf({ id }: { readonly id: number }): number {
  return id;
}
