import { describeRules } from '@portcullis/core/firewall/rules/describe.ts';
import {
  type Difference,
  difference,
  isDifferent,
} from '@portcullis/core/firewall/rules/difference.ts';
import { expandEntry, readEntry, type RuleEntry } from '@portcullis/core/firewall/rules/entry.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Batch } from '../../fleet/batch.ts';
import { Problem } from '../../problem.ts';
import type { Tx } from '../../db/database.ts';
import { requireConfiguredLimit, requireConfiguredWith } from '../writes/configured.ts';
import type { Conflict } from './conflicts.ts';
import {
  filterKey,
  ruleKey,
  type WantedFilter,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import { changedMarks, type Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { findAssignableHolding, lockHoldings } from './holdings.ts';
import { countConfiguredIn, type GroupView, listGroups, type StoredMarks } from './read.ts';
import {
  changeContents,
  createGroups,
  findAllConflicts,
  renameGroup,
  requireFreeName,
  requireGroup,
  requireKnownFilters,
  requireTarget,
} from './service.ts';
import * as store from './store.ts';

/** A group as it shall be: what it has and this has not is taken out. */
export interface WantedGroup {
  readonly name: string;
  readonly rules: readonly RuleEntry[];
  readonly filters: readonly WantedFilter[];
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
  // Refuses what is wrong before anything is locked.
  const content = readContent(wanted, of.maxPorts);
  const groupId = of.groupId ?? (await createEmpty(batch, of.organisationId, wanted.name));
  const group = await requireGroup(batch, groupId, of.organisationId);
  await renameGroup(batch, group, wanted.name);
  const plan = await planGroup(batch.tx, { ...of, groupId }, wanted, content);
  const { difference, assigned, placed } = plan;
  const { rules, filters } = difference;
  await place(batch, plan);
  await changeContents(batch, [
    {
      groupId,
      addRules: rules.created,
      addFilters: filters.created,
      removeRules: rules.deleted.map(idOf),
      removeFilters: filters.deleted.map(idOf),
      markRules: marksOf(rules, content.rules),
      markFilters: marksOf(filters, content.filters),
    },
  ]);
  if (isChanged(difference)) batch.touch(...assigned.map(({ target }) => target));
  const conflicts = placed.all.length === 0 ? [] : await findAllConflicts(batch.tx, placed.all);
  if (placed.added.length > 0) await requireConfiguredLimit(batch.tx, of.organisationId);
  const changes = await describeChanges(batch.tx, of.organisationId, plan);
  return { id: groupId, changes, conflicts };
}

/** No sequence comes so far; like a new group's own id it is above all others. */
const NEW_GROUP = 2 ** 52;

/** Finds what `saveGroup` would come to, in memory, over a snapshot that locks nothing. Throws what it would. */
export async function previewGroup(batch: Batch, of: Of, wanted: WantedGroup): Promise<SavedGroup> {
  const { tx } = batch;
  const content = readContent(wanted, of.maxPorts);
  const groupId = of.groupId ?? NEW_GROUP;
  if (of.groupId !== null) {
    await requireGroup(batch, groupId, of.organisationId, { locked: false });
  }
  await requireFreeName(tx, { ...of, groupId }, wanted.name);
  const plan = await planGroup(tx, { ...of, groupId }, wanted, content);
  const { placed } = plan;
  requireKnownFilters(plan.difference.filters.created);
  const planned = { id: groupId, name: wanted.name, ...content, assignments: placed.all };
  const conflicts = placed.all.length === 0 ? [] : await findAllConflicts(tx, placed.all, planned);
  if (placed.added.length > 0) {
    const targets = placed.all.map(({ target }) => target);
    await requireConfiguredWith(tx, of.organisationId, { targets, groupId });
  }
  const changes = await describeChanges(tx, of.organisationId, plan);
  return { id: groupId, changes, conflicts };
}

interface GroupPlan {
  readonly content: Content;
  readonly before: StoredContent;
  readonly difference: ContentDifference;
  readonly assigned: readonly store.AssignmentRecord[];
  readonly placed: Placed;
}

/** Reads what a group has, and compares it with what it shall have. */
async function planGroup(
  tx: Tx,
  { organisationId, groupId }: { readonly organisationId: number; readonly groupId: number },
  wanted: WantedGroup,
  content: Content,
): Promise<GroupPlan> {
  const targets = [...new Set(wanted.targets.map(requireTarget))];
  const none = { rules: [], filters: [] };
  const [before = none] =
    groupId === NEW_GROUP ? [] : await listGroups(tx, organisationId, groupId);
  const changed = {
    rules: difference(before.rules, content.rules, ruleKey),
    filters: difference(before.filters, content.filters, filterKey),
  };
  const assigned = await store.loadAssignments(tx, groupId === NEW_GROUP ? [] : [groupId]);
  const placed = await planPlaces(tx, organisationId, { groupId, targets, assigned });
  return { content, before, difference: changed, assigned, placed };
}

async function createEmpty(batch: Batch, organisationId: number, name: string): Promise<number> {
  const [id] = await createGroups(batch, [{ organisationId, name, rules: [], filters: [] }]);
  if (id === undefined) throw new Error('a group was created without an id');
  return id;
}

interface Content {
  readonly rules: readonly WantedRule[];
  readonly filters: readonly WantedFilter[];
}

function readContent({ rules, filters }: WantedGroup, maxPorts: number): Content {
  const now = new Date();
  const expanded = rules.flatMap((entry, index) => {
    const read = readEntry(entry, { family: null, maxPorts, now });
    const refused = read.ok && read.value.hasExpired ? HAS_EXPIRED : read;
    if (refused.ok) return expandEntry(refused.value);
    const errors = [{ pointer: `/rules/${index}/${refused.field}`, detail: refused.reason }];
    throw new Problem('invalid_request', `The rule is not valid: ${refused.reason}.`, { errors });
  });
  refuseTwice(expanded.map(ruleKey), 'rule_exists', 'rule');
  refuseTwice(filters.map(filterKey), 'filter_exists', 'filter');
  refuseTwice(refsOf(expanded), 'rule_exists', 'ref of a rule');
  refuseTwice(refsOf(filters), 'filter_exists', 'ref of a filter');
  return { rules: expanded, filters };
}

const HAS_EXPIRED = {
  ok: false,
  field: 'expires_at',
  reason: 'expires_at is over already',
} as const;

function refsOf(objects: readonly Partial<Marks>[]): string[] {
  return objects.flatMap(({ ref }) => ref ?? []);
}

function refuseTwice(
  keys: readonly string[],
  code: 'rule_exists' | 'filter_exists',
  what: string,
): void {
  const seen = new Set<string>();
  const twice = keys.find((key) => seen.size === seen.add(key).size);
  if (twice !== undefined) {
    throw new Problem(code, `The group would have the same ${what} twice: ${twice}.`);
  }
}

type StoredContent = Pick<GroupView, 'rules' | 'filters'>;

interface ContentDifference {
  readonly rules: Difference<WantedRule, StoredContent['rules'][number]>;
  readonly filters: Difference<WantedFilter, StoredContent['filters'][number]>;
}

/** The marks that rules or filters which stay get. */
function marksOf<Wanted extends Partial<Marks>>(
  { kept }: Difference<Wanted, StoredMarks>,
  wanted: readonly Wanted[],
): store.GroupMarks[] {
  return changedMarks(kept, wanted).map(({ stored, marks }) => ({ ...marks, id: stored.id }));
}

function isChanged({ rules, filters }: ContentDifference): boolean {
  return isDifferent(rules) || isDifferent(filters);
}

interface Placed {
  readonly added: readonly store.Assignment[];
  readonly removed: readonly store.AssignmentRecord[];
  readonly kept: readonly store.AssignmentRecord[];
  /** Where the group shall be. */
  readonly all: readonly store.Assignment[];
}

async function planPlaces(
  tx: Tx,
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
  const wanted = new Set(targets);
  const added: store.Assignment[] = [];
  for (const target of targets.filter((one) => !known.has(one))) {
    const holdingId = await findAssignableHolding(tx, organisationId, target);
    added.push({ groupId, holdingId, target });
  }
  const removed = assigned.filter(({ target }) => !wanted.has(target));
  const kept = assigned.filter(({ target }) => wanted.has(target));
  return { added, removed, kept, all: [...kept, ...added] };
}

/** Assigns and unassigns. Locks all holdings first, in the order of their ids. */
async function place(batch: Batch, { placed }: GroupPlan): Promise<void> {
  const { added, removed, all } = placed;
  await lockHoldings(batch.tx, [...new Set(all.map(({ holdingId }) => holdingId))]);
  await batch.end('group_assignments', removed.map(idOf));
  if (added.length > 0) await store.insertAssignments(batch, added);
  const touched = [...added, ...removed].map(({ target }) => target);
  if (touched.length > 0) batch.touch(...touched);
}

async function describeChanges(
  tx: Tx,
  organisationId: number,
  { content, before, difference, placed }: GroupPlan,
): Promise<TargetChange[]> {
  const targetsOf = (list: readonly { readonly target: string }[]) =>
    list.map(({ target }) => target);
  const added = targetsOf(placed.added);
  const removed = targetsOf(placed.removed);
  const kept = targetsOf(placed.kept);
  const all = [...added, ...removed, ...kept];
  const counts = await countConfiguredIn(tx, organisationId, all);
  const none = { rules: [], filters: [] };
  const one = (target: string, change: TargetChange['change'], plus: Content, minus: Content) => ({
    target: shown(target),
    change,
    configuredAddresses: counts.get(target) ?? 0,
    rulesAdded: describeRules(plus.rules),
    rulesRemoved: describeRules(minus.rules),
    filtersAdded: plus.filters.map(filterKey),
    filtersRemoved: minus.filters.map(filterKey),
  });
  const { rules, filters } = difference;
  const plus = { rules: rules.created, filters: filters.created };
  const minus = { rules: rules.deleted, filters: filters.deleted };
  const stays = isChanged(difference) ? 'changed' : 'unchanged';
  return [
    ...added.map((target) => one(target, 'assigned', content, none)),
    ...removed.map((target) => one(target, 'unassigned', none, before)),
    ...kept.map((target) => one(target, stays, plus, minus)),
  ];
}

function shown(network: string): string {
  const parsed = parseCidr(network);
  return parsed.ok ? formatNetwork(parsed.value) : network;
}

function idOf({ id }: { readonly id: number }): number {
  return id;
}
