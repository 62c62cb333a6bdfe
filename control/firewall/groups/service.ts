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

/** Returns the group's id. It is on no address yet. */
export async function createGroup(batch: Batch, group: NewGroup): Promise<number> {
  requireName(group.name);
  const id = await store.insertGroup(batch, group.organisationId, group.name);
  if (id === null) throw nameTaken(group.name);
  await addContent(batch, id, group.rules, group.filters);
  batch.mark();
  return id;
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
  await addContent(batch, groupId, edit.addRules ?? [], edit.addFilters ?? []);
  batch.touch(...assignments.map((a) => a.target));
  // A limit that was lowered below what is there must not stop anybody from taking rules out.
  const adds = (edit.addRules?.length ?? 0) + (edit.addFilters?.length ?? 0) > 0;
  if (adds) await refuseConflicts(batch, groupId, group.name, assignments);
}

/**
 * Puts a group on an address or on a prefix inside a holding of its organisation, and so on everything in it
 * that the same holding has. Refused whole, listing the conflicts, when any address would have an equal rule
 * or filter twice or pass a limit. `holdingId`: for callers that know which holding they mean.
 */
export async function assignGroup(
  batch: Batch,
  groupId: number,
  target: string,
  holdingId?: number,
): Promise<number> {
  const group = await requireGroup(batch, groupId);
  const cidr = requireTarget(target);
  const holder = holdingId ?? (await findAssignableHolding(batch.tx, group.organisationId, cidr));
  await lockHoldings(batch.tx, [holder]);
  const assignment = { groupId, holdingId: holder, target: cidr };
  const id = await store.insertAssignment(batch, assignment);
  if (id === null) {
    throw new Problem('rule_exists', `The group ${group.name} is on ${target} already.`);
  }
  batch.touch(cidr);
  await refuseConflicts(batch, groupId, group.name, [assignment]);
  await requireConfiguredLimit(batch.tx, group.organisationId);
  return id;
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

async function requireGroup(batch: Batch, groupId: number): Promise<store.GroupRecord> {
  const group = await store.lockGroup(batch.tx, groupId);
  if (group === null) throw new Problem('not_found', `There is no group ${groupId}.`);
  if (group.owner !== batch.owner) {
    const side = group.owner === 'fleet' ? 'fleet file' : 'portal';
    throw new Problem(
      'invalid_request',
      `The group ${group.name} belongs to the ${side}; change it there.`,
    );
  }
  return group;
}

function requireName(name: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (name.trim() === '' || name.length > NAME_LENGTH || /[\u0000-\u001f\u007f]/.test(name)) {
    const detail = `A group's name has 1 to ${NAME_LENGTH} characters, none of them control characters.`;
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '/name', detail }] });
  }
}

function nameTaken(name: string): Problem {
  const detail = `The organisation has a group named ${name} already.`;
  return new Problem('invalid_request', detail, { errors: [{ pointer: '/name', detail }] });
}

/** Accepts an address or a CIDR, and writes it as PostgreSQL does: always with its length. */
export function requireTarget(target: string): string {
  const parsed = parseCidr(target);
  if (!parsed.ok) throw new Problem('invalid_request', `${target}: ${parsed.reason}`);
  return formatCidr(parsed.value);
}

async function addContent(
  batch: Batch,
  groupId: number,
  rules: readonly RuleContent[],
  filters: readonly FilterContent[],
): Promise<void> {
  for (const { type } of filters) {
    if (FILTERS.some((filter) => filter.type === type)) continue;
    throw new Problem('filter_unavailable', `There is no filter ${type}.`);
  }
  if ((await store.insertGroupRules(batch, groupId, rules)) < rules.length) {
    throw new Problem('rule_exists', 'The group would have the same rule twice.');
  }
  if ((await store.insertGroupFilters(batch, groupId, filters)) < filters.length) {
    throw new Problem('filter_exists', 'The group would have the same filter twice.');
  }
}

async function endContent(
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

async function refuseConflicts(
  batch: Batch,
  groupId: number,
  name: string,
  assignments: readonly { readonly holdingId: number; readonly target: string }[],
): Promise<void> {
  const targetsOf = Map.groupBy(assignments, ({ holdingId }) => holdingId);
  const conflicts: Conflict[] = [];
  for (const [holdingId, assigned] of targetsOf) {
    const targets = assigned.map(({ target }) => target);
    conflicts.push(...(await store.findOwnDuplicates(batch.tx, groupId, holdingId, targets)));
    const content = await store.loadHoldingContent(batch.tx, holdingId, targets);
    conflicts.push(...findConflicts(content, groupId));
    if (conflicts.length > LISTED_CONFLICTS) break;
  }
  const [first] = conflicts;
  if (first === undefined) return;
  const listed = conflicts.slice(0, LISTED_CONFLICTS).map((c) => `${c.target}: ${c.reason}`);
  const more = conflicts.length > LISTED_CONFLICTS ? '; and more' : '';
  throw new Problem(
    first.code,
    `The group ${name} was not changed anywhere, because it conflicts: ${listed.join('; ')}${more}.`,
  );
}
