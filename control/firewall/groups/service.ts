import { sql } from 'kysely';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Batch, GenerationalTable } from '../../fleet/batch.ts';
import { Problem } from '../../problem.ts';
import { type Conflict, findConflicts, LISTED_CONFLICTS } from './conflicts.ts';
import type { FilterContent, RuleContent } from './content.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';
import { findAssignableHolding, lockHoldings } from './holdings.ts';
import * as store from './store.ts';

/**
 * Firewall groups: transaction scripts. Each is given a batch, writes in its transaction and throws a
 * `Problem` for what a person may mend; after a `Problem` the transaction must be rolled back.
 */

export interface NewGroup {
  readonly organisationId: number;
  readonly name: string;
  readonly rules: readonly RuleContent[];
  readonly filters: readonly FilterContent[];
}

export interface GroupEdit {
  readonly name?: string;
  readonly addRules?: readonly RuleContent[];
  readonly addFilters?: readonly FilterContent[];
  /** Ids of the group's rules and filters; others are skipped silently. */
  readonly removeRules?: readonly number[];
  readonly removeFilters?: readonly number[];
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

/** Changes a group everywhere it is assigned, or nowhere. */
export async function editGroup(batch: Batch, groupId: number, edit: GroupEdit): Promise<void> {
  const group = await requireGroup(batch, groupId);
  if (edit.name !== undefined && edit.name !== group.name) {
    requireName(edit.name);
    if (!(await store.renameGroup(batch.tx, group, edit.name))) throw nameTaken(edit.name);
    batch.mark();
  }
  const assignments = await store.loadAssignments(batch.tx, groupId);
  await lockHoldings(batch.tx, [...new Set(assignments.map((a) => a.holdingId))]);
  await endContent(batch, 'group_rules', groupId, edit.removeRules ?? []);
  await endContent(batch, 'group_filters', groupId, edit.removeFilters ?? []);
  await addContent(
    batch,
    (edit.addRules ?? []).map((rule) => ({ ...rule, groupId })),
    (edit.addFilters ?? []).map((filter) => ({ ...filter, groupId })),
  );
  batch.touch(...assignments.map((a) => a.target));
  // A limit that was lowered below what is there must not stop anybody from taking rules out.
  const adds = (edit.addRules?.length ?? 0) + (edit.addFilters?.length ?? 0) > 0;
  if (!adds || assignments.length === 0) return;
  const assigned = assignments.map((assignment) => ({ ...assignment, groupId }));
  await refuseConflicts(batch, assigned, new Map([[groupId, group]]));
}

/** Assigns one group, to a target of whichever holding has it now; see `assignGroups`. */
export async function assignGroup(batch: Batch, groupId: number, target: string): Promise<void> {
  const { organisationId } = await requireGroup(batch, groupId);
  const holdingId = await findAssignableHolding(batch.tx, organisationId, requireTarget(target));
  await assignGroups(batch, [{ groupId, holdingId, target }]);
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

/** Takes a group off a target. False: it was not on it. */
export async function unassignGroup(
  batch: Batch,
  groupId: number,
  target: string,
): Promise<boolean> {
  await requireGroup(batch, groupId);
  const cidr = requireTarget(target);
  const assigned = await store.loadAssignments(batch.tx, groupId);
  const ended = assigned.filter((assignment) => assignment.target === cidr);
  await batch.end(
    'group_assignments',
    ended.map(({ id }) => id),
  );
  if (ended.length > 0) batch.touch(cidr);
  return ended.length > 0;
}

/** Deletes a group with all that it put on addresses. Its rows are kept for the history. */
export async function deleteGroup(batch: Batch, groupId: number): Promise<void> {
  await requireGroup(batch, groupId);
  const assignments = await store.loadAssignments(batch.tx, groupId);
  await batch.end(
    'group_assignments',
    assignments.map(({ id }) => id),
  );
  await endContent(batch, 'group_rules', groupId, 'all');
  await endContent(batch, 'group_filters', groupId, 'all');
  await sql`update groups set deleted_at = now() where id = ${groupId}`.execute(batch.tx);
  batch.touch(...assignments.map((a) => a.target));
}

export async function requireGroup(batch: Batch, groupId: number): Promise<store.GroupRecord> {
  const group = (await requireGroups(batch, [groupId])).get(groupId);
  if (group === undefined) throw new Error('a group was checked and is not there');
  return group;
}

async function requireGroups(
  batch: Batch,
  ids: readonly number[],
): Promise<Map<number, store.GroupRecord>> {
  const groups = await store.lockGroups(batch.tx, ids);
  const missing = ids.find((id) => !groups.has(id));
  if (missing !== undefined) throw new Problem('not_found', `There is no group ${missing}.`);
  for (const { name, owner } of groups.values()) batch.requireOwn(owner, `The group ${name}`);
  return groups;
}

export function requireName(name: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (name.trim() === '' || name.length > NAME_LENGTH || /[\u0000-\u001f\u007f]/.test(name)) {
    const detail = `A group's name has 1 to ${NAME_LENGTH} characters, none of them control characters.`;
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '/name', detail }] });
  }
}

export function nameTaken(name: string): Problem {
  const detail = `The organisation has a group named ${name} already.`;
  return new Problem('invalid_request', detail, { errors: [{ pointer: '/name', detail }] });
}

/** Accepts an address or a CIDR, and writes it as PostgreSQL does: always with its length. */
export function requireTarget(target: string): string {
  const parsed = parseCidr(target);
  if (!parsed.ok) throw new Problem('invalid_request', `${target}: ${parsed.reason}`);
  return formatCidr(parsed.value);
}

export async function addContent(
  batch: Batch,
  rules: readonly (RuleContent & { readonly groupId: number })[],
  filters: readonly (FilterContent & { readonly groupId: number })[],
): Promise<void> {
  for (const { type } of filters) {
    if (FILTERS.some((filter) => filter.type === type)) continue;
    throw new Problem('filter_unavailable', `There is no filter ${type}.`);
  }
  if ((await store.insertGroupRules(batch, rules)) < rules.length) {
    throw new Problem('rule_exists', 'The group would have the same rule twice.');
  }
  if ((await store.insertGroupFilters(batch, filters)) < filters.length) {
    throw new Problem('filter_exists', 'The group would have the same filter twice.');
  }
}

export async function endContent(
  batch: Batch,
  table: Extract<GenerationalTable, 'group_rules' | 'group_filters'>,
  groupId: number,
  wanted: readonly number[] | 'all',
): Promise<void> {
  const chosen = wanted === 'all' ? sql`true` : sql`id = any(${wanted}::bigint[])`;
  const { rows } = await sql<{ id: number }>`
    select id from ${sql.table(table)}
     where group_id = ${groupId} and deleted_generation is null and ${chosen}
  `.execute(batch.tx);
  await batch.end(
    table,
    rows.map((row) => row.id),
  );
}

export async function refuseConflicts(
  batch: Batch,
  assignments: readonly store.Assignment[],
  groups: ReadonlyMap<number, store.GroupRecord>,
): Promise<void> {
  const conflicts = await store.findOwnDuplicates(batch.tx, assignments);
  const byHolding = Map.groupBy(assignments, ({ holdingId }) => holdingId);
  for (const [holdingId, content] of await store.loadHoldingContents(batch.tx, assignments)) {
    if (conflicts.length > LISTED_CONFLICTS) break;
    const checked = new Set(byHolding.get(holdingId)?.map(({ groupId }) => groupId));
    conflicts.push(...findConflicts(content, checked));
  }
  const [first] = conflicts;
  if (first === undefined) return;
  const ofGroup = conflicts.filter(({ groupId }) => groupId === first.groupId);
  const listed = ofGroup.slice(0, LISTED_CONFLICTS).map((c) => `${c.target}: ${c.reason}`);
  const more = conflicts.length > listed.length ? '; and more' : '';
  const { name } = groups.get(first.groupId) ?? { name: '' };
  throw new GroupConflict(
    conflicts.slice(0, LISTED_CONFLICTS),
    `The group ${name} was not changed anywhere, because it conflicts: ${listed.join('; ')}${more}.`,
  );
}

/** Names the group whose assignment is refused. */
export class GroupConflict extends Problem {
  readonly groupId: number;
  /** At least one. */
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[], detail: string) {
    const [first] = conflicts;
    if (first === undefined) throw new Error('there is no conflict');
    super(first.code, detail);
    this.groupId = first.groupId;
    this.conflicts = conflicts;
  }
}
