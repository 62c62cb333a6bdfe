import { sql } from 'kysely';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Tx } from '../../db/database.ts';
import type { Batch, GenerationalTable } from '../../fleet/batch.ts';
import { invalidField, Problem } from '../../problem.ts';
import { type Conflict, findConflicts, LISTED_CONFLICTS } from './conflicts.ts';
import type {
  FilterContent,
  WantedFilter,
  WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';
import { lockHoldings } from './holdings.ts';
import * as store from './store.ts';

/**
 * Firewall groups: transaction scripts. Each is given a batch, writes in its transaction and throws a
 * `Problem` for a mistake that the caller can correct; after a `Problem` the transaction must be rolled back.
 */

export interface NewGroup {
  readonly organisationId: number;
  readonly name: string;
  readonly rules: readonly WantedRule[];
  readonly filters: readonly WantedFilter[];
}

export interface GroupEdit {
  readonly name?: string;
  readonly addRules?: readonly WantedRule[];
  readonly addFilters?: readonly WantedFilter[];
  /** Ids of the group's rules and filters; others are skipped silently. */
  readonly removeRules?: readonly number[];
  readonly removeFilters?: readonly number[];
  /** Other marks for rules and filters that stay. */
  readonly markRules?: readonly store.GroupMarks[];
  readonly markFilters?: readonly store.GroupMarks[];
}

/** An edit of a group, with the targets that it gets and leaves. */
export interface PlacedEdit extends GroupEdit {
  readonly groupId: number;
  readonly assign?: readonly Omit<store.Assignment, 'groupId'>[];
  readonly unassign?: readonly { readonly id: number }[];
}

const NAME_LENGTH = 200;

/** Creates groups that are assigned nowhere yet, and returns their ids in order. */
export async function createGroups(batch: Batch, groups: readonly NewGroup[]): Promise<number[]> {
  for (const { name } of groups) requireName(name);
  const inserted = await store.insertGroups(batch, groups);
  const taken = groups[inserted.indexOf(null)];
  if (taken !== undefined) throw nameTaken(taken.name);
  const ids = inserted.filter((id) => id !== null);
  const ofGroup = <T>(pick: (group: NewGroup) => readonly T[]) =>
    groups.flatMap((group, at) => pick(group).map((one) => ({ ...one, groupId: ids[at] ?? 0 })));
  await addContent(
    batch,
    ofGroup(({ rules }) => rules),
    ofGroup(({ filters }) => filters),
  );
  batch.mark();
  return ids;
}

/** Changes groups everywhere they are assigned, and where that is, or nothing. What they leave is free for the others. */
export async function editGroups(batch: Batch, edits: readonly PlacedEdit[]): Promise<void> {
  const ids = edits.map(({ groupId }) => groupId);
  const groups = await requireGroups(batch, ids);
  const there = await store.loadAssignments(batch.tx, ids);
  const added = edits.flatMap(({ groupId, assign = [] }) =>
    assign.map((place) => ({ ...place, groupId })),
  );
  await lockHoldings(batch.tx, [...new Set([...there, ...added].map((one) => one.holdingId))]);
  for (const { groupId, name } of edits) {
    const group = groups.get(groupId);
    if (name !== undefined && group !== undefined) await renameGroup(batch, group, name);
  }
  const ended = new Set(edits.flatMap(({ unassign = [] }) => unassign.map(({ id }) => id)));
  await batch.end('group_assignments', [...ended]);
  await changeContents(batch, edits);
  const changed = new Set(edits.filter(changesPolicies).map(({ groupId }) => groupId));
  const touched = there.filter(({ id, groupId }) => ended.has(id) || changed.has(groupId));
  if (touched.length > 0) batch.touch(...touched.map(({ target }) => target));
  // A limit that was lowered below what is there must not stop anybody from taking rules out.
  const adding = new Set(edits.filter(addsContent).map(({ groupId }) => groupId));
  const kept = there.filter(({ id, groupId }) => !ended.has(id) && adding.has(groupId));
  if (added.length > 0) await placeGroups(batch, added, groups);
  if (kept.length > 0) await refuseConflicts(batch, kept, groups);
}

function addsContent({ addRules = [], addFilters = [] }: GroupEdit): boolean {
  return addRules.length + addFilters.length > 0;
}

/** Marks alone change nothing on edges. */
function changesPolicies({ addRules, addFilters, removeRules, removeFilters }: GroupEdit): boolean {
  return [addRules, addFilters, removeRules, removeFilters].some((list = []) => list.length > 0);
}

/** Throws for a name that is none, or that another group than this one has. */
export async function requireFreeName(
  tx: Tx,
  of: { readonly organisationId: number; readonly groupId: number },
  name: string,
): Promise<void> {
  requireName(name);
  if (await store.isNameTaken(tx, of, name)) throw nameTaken(name);
}

export async function renameGroup(
  batch: Batch,
  group: store.GroupRecord,
  name: string,
): Promise<void> {
  if (name === group.name) return;
  requireName(name);
  if (!(await store.renameGroup(batch.tx, group, name))) throw nameTaken(name);
  batch.mark();
}

/** Takes rules and filters out of groups, changes the marks of others, and puts others into them. */
export async function changeContents(
  batch: Batch,
  edits: readonly (GroupEdit & { readonly groupId: number })[],
): Promise<void> {
  const ids = edits.map(({ groupId }) => groupId);
  await endContent(
    batch,
    'group_rules',
    ids,
    edits.flatMap((edit) => edit.removeRules ?? []),
  );
  await endContent(
    batch,
    'group_filters',
    ids,
    edits.flatMap((edit) => edit.removeFilters ?? []),
  );
  await store.writeGroupMarks(
    batch,
    'group_rules',
    edits.flatMap((edit) => edit.markRules ?? []),
  );
  await store.writeGroupMarks(
    batch,
    'group_filters',
    edits.flatMap((edit) => edit.markFilters ?? []),
  );
  await addContent(
    batch,
    edits.flatMap(({ groupId, addRules = [] }) => addRules.map((rule) => ({ ...rule, groupId }))),
    edits.flatMap(({ groupId, addFilters = [] }) =>
      addFilters.map((filter) => ({ ...filter, groupId })),
    ),
  );
}

/**
 * Assigns groups to addresses, or to prefixes inside a holding of their organisation, and so to everything in them
 * that the same holding has. Refused whole, listing the conflicts, when any address would have an equal rule
 * or filter twice or exceed a limit.
 */
export async function assignGroups(
  batch: Batch,
  wanted: readonly store.Assignment[],
): Promise<void> {
  const groups = await requireGroups(batch, [...new Set(wanted.map(({ groupId }) => groupId))]);
  const assignments = wanted.map((one) => ({ ...one, target: requireTarget(one.target) }));
  await lockHoldings(batch.tx, [...new Set(assignments.map(({ holdingId }) => holdingId))]);
  await placeGroups(batch, assignments, groups);
}

/** Assigns groups. Needs the locks of groups and holdings. */
async function placeGroups(
  batch: Batch,
  assignments: readonly store.Assignment[],
  groups: ReadonlyMap<number, store.GroupRecord>,
): Promise<void> {
  const [twice] = await store.insertAssignments(batch, assignments);
  if (twice !== undefined) {
    const name = groups.get(twice.groupId)?.name ?? '';
    throw new Problem('rule_exists', `The group ${name} is on ${twice.target} already.`);
  }
  batch.touch(...assignments.map(({ target }) => target));
  await refuseConflicts(batch, assignments, groups);
  const organisations = new Set([...groups.values()].map(({ organisationId }) => organisationId));
  await requireConfiguredLimit(batch.tx, ...organisations);
}

/** Deletes a group with all that it put on addresses. Its rows are kept for the history. */
export async function deleteGroup(
  batch: Batch,
  groupId: number,
  organisationId?: number,
): Promise<void> {
  await deleteGroups(batch, [groupId], organisationId);
}

/** Deletes groups of the organisation, or of any, in a few statements. */
export async function deleteGroups(
  batch: Batch,
  groupIds: readonly number[],
  organisationId?: number,
): Promise<void> {
  await requireGroups(batch, groupIds, organisationId);
  const assignments = await store.loadAssignments(batch.tx, groupIds);
  await batch.end(
    'group_assignments',
    assignments.map(({ id }) => id),
  );
  await endContent(batch, 'group_rules', groupIds, 'all');
  await endContent(batch, 'group_filters', groupIds, 'all');
  await sql`update groups set deleted_at = now() where id = any(${groupIds}::bigint[])`.execute(
    batch.tx,
  );
  batch.touch(...assignments.map((a) => a.target));
}

/** A group that this side may change. One of another organisation is not found, as if there were none. */
export async function requireGroup(
  batch: Batch,
  groupId: number,
  organisationId?: number,
  { locked = true } = {},
): Promise<store.GroupRecord> {
  const groups = await requireGroups(batch, [groupId], organisationId, locked);
  const group = groups.get(groupId);
  if (group === undefined) throw new Error('a group was checked and is not there');
  return group;
}

async function requireGroups(
  batch: Batch,
  ids: readonly number[],
  organisationId?: number,
  locked = true,
): Promise<Map<number, store.GroupRecord>> {
  const groups = await store.loadGroups(batch.tx, ids, { locked });
  const isMissing = (id: number): boolean => {
    const group = groups.get(id);
    return group === undefined || (organisationId ?? group.organisationId) !== group.organisationId;
  };
  const missing = ids.find(isMissing);
  if (missing !== undefined) throw new Problem('not_found', `There is no group ${missing}.`);
  for (const { name, owner } of groups.values()) batch.requireOwn(owner, `The group ${name}`);
  return groups;
}

function requireName(name: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (name.trim() === '' || name.length > NAME_LENGTH || /[\u0000-\u001f\u007f]/.test(name)) {
    const detail = `A group's name has 1 to ${NAME_LENGTH} characters, none of them control characters.`;
    throw invalidField('/name', detail);
  }
}

function nameTaken(name: string): Problem {
  return invalidField('/name', `The organisation has a group named ${name} already.`);
}

/** Accepts an address or a CIDR, and writes it as PostgreSQL does: always with its length. */
export function requireTarget(target: string): string {
  const parsed = parseCidr(target);
  if (!parsed.ok) throw new Problem('invalid_request', `${target}: ${parsed.reason}`);
  return formatCidr(parsed.value);
}

async function addContent(
  batch: Batch,
  rules: readonly (WantedRule & { readonly groupId: number })[],
  filters: readonly (WantedFilter & { readonly groupId: number })[],
): Promise<void> {
  requireKnownFilters(filters);
  if ((await store.insertGroupRules(batch, rules)) < rules.length) {
    throw new Problem('rule_exists', 'The group would have the same rule twice.');
  }
  if ((await store.insertGroupFilters(batch, filters)) < filters.length) {
    throw new Problem('filter_exists', 'The group would have the same filter twice.');
  }
}

export function requireKnownFilters(filters: readonly FilterContent[]): void {
  for (const { type } of filters) {
    if (FILTERS.some((filter) => filter.type === type)) continue;
    throw new Problem('filter_unavailable', `There is no filter ${type}.`);
  }
}

async function endContent(
  batch: Batch,
  table: Extract<GenerationalTable, 'group_rules' | 'group_filters'>,
  groupIds: readonly number[],
  wanted: readonly number[] | 'all',
): Promise<void> {
  if (wanted.length === 0) return;
  const chosen = wanted === 'all' ? sql`true` : sql`id = any(${wanted}::bigint[])`;
  const { rows } = await sql<{ id: number }>`
    select id from ${sql.table(table)}
     where group_id = any(${groupIds}::bigint[]) and deleted_generation is null and ${chosen}
  `.execute(batch.tx);
  await batch.end(
    table,
    rows.map((row) => row.id),
  );
}

async function refuseConflicts(
  batch: Batch,
  assignments: readonly store.Assignment[],
  groups: ReadonlyMap<number, store.GroupRecord>,
): Promise<void> {
  const conflicts = await findAllConflicts(batch.tx, assignments);
  const [first] = conflicts;
  if (first !== undefined) {
    throw new GroupConflict(conflicts, first, groups.get(first.groupId)?.name ?? '');
  }
}

/**
 * Finds objects that assigned groups conflict with; a few more than are listed at most. `planned`: a group as it is
 * stored nowhere yet, with all of its assignments.
 */
export async function findAllConflicts(
  tx: Tx,
  assignments: readonly store.Assignment[],
  planned: store.PlannedGroup | null = null,
): Promise<readonly Conflict[]> {
  const conflicts = await store.findOwnDuplicates(tx, assignments, planned);
  const byHolding = Map.groupBy(assignments, ({ holdingId }) => holdingId);
  for (const [holdingId, content] of await store.loadHoldingContents(tx, assignments, planned)) {
    if (conflicts.length > LISTED_CONFLICTS) break;
    const checked = new Set(byHolding.get(holdingId)?.map(({ groupId }) => groupId));
    conflicts.push(...findConflicts(content, checked));
  }
  return conflicts;
}

/** Names the group whose assignment is refused. */
export class GroupConflict extends Problem {
  readonly groupId: number;

  constructor(conflicts: readonly Conflict[], first: Conflict, name: string) {
    const ofGroup = conflicts.filter(({ groupId }) => groupId === first.groupId);
    const listed = ofGroup.slice(0, LISTED_CONFLICTS).map((c) => `${c.target}: ${c.reason}`);
    const more = conflicts.length > listed.length ? '; and more' : '';
    super(
      first.code,
      `The group ${name} was not changed anywhere, because it conflicts: ${listed.join('; ')}${more}.`,
    );
    this.groupId = first.groupId;
  }
}
