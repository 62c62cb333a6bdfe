import { countOf } from '@portcullis/core/count.ts';
import { filterKey, ruleIdentity } from '@portcullis/core/firewall/rules/content.ts';
import { describeRule } from '@portcullis/core/firewall/rules/describe.ts';
import { difference } from '@portcullis/core/firewall/rules/difference.ts';
import { changedMarks, describeMarks } from '@portcullis/core/firewall/rules/marks.ts';
import type { DesiredGeoRule, DesiredGroup, DesiredTarget } from '../desired.ts';
import type { CurrentAssignment, CurrentGroup } from '../state/state.ts';
import type { HoldingRef } from './change.ts';
import { type PlanDraft, planMatching } from './draft.ts';
import { showCidr } from '../../operator/index.ts';
import type { HoldingIndex } from './holdings.ts';

export function planGroups(draft: PlanDraft, holdings: HoldingIndex): void {
  planMatching(draft, {
    wanted: draft.organisations.flatMap(({ slug, groups }) =>
      groups.map((group) => ({ ...group, slug })),
    ),
    rows: draft.state.groups,
    subjectOf: ({ name }) => `group ${name}`,
    wantedKey: ({ slug, name }) => `${slug} ${name}`,
    rowKey: ({ organisationId, name }) => `${draft.slugOf(organisationId)} ${name}`,
    save(group, row) {
      const { slug, name: key, targets } = group;
      planGroup(draft, slug, row, group);
      const owner = {
        kind: 'group',
        organisation: slug,
        key,
        subject: `group ${key} (${slug})`,
      } as const;
      planTargets(draft, owner, targets, row?.assignments ?? [], holdings);
    },
    remove({ id, name, organisationId, assignments }) {
      const organisation = draft.slugOf(organisationId);
      const subject = `group ${name} (${organisation})`;
      const words = assignments.length > 0 ? `off ${countOf(assignments.length, 'target')}` : '';
      draft.add({ do: 'group.delete', sign: '-', subject, words, id, organisation });
    },
  });
}

function planGroup(
  draft: PlanDraft,
  slug: string,
  row: CurrentGroup | undefined,
  { name, rules, filters, expired, at }: DesiredGroup,
): void {
  const change = { subject: `group ${name} (${slug})`, organisation: slug };
  for (const one of expired) draft.note(`${change.subject}: ${one} has expired`);
  if (row === undefined) {
    const words = `${countOf(rules.length, 'rule')}, ${countOf(filters.length, 'filter')}`;
    draft.add({ do: 'group.create', sign: '+', words, name, rules, filters, ...change }, at);
    return;
  }
  const changedRules = difference(row.rules, rules, ruleIdentity);
  const changedFilters = difference(row.filters, filters, filterKey);
  const markedRules = changedMarks(changedRules.kept, rules);
  const markedFilters = changedMarks(changedFilters.kept, filters);
  const all = [
    ...changedRules.deleted.map((rule) => `- ${describeRule(rule)}`),
    ...changedFilters.deleted.map((filter) => `- filter ${filterKey(filter)}`),
    ...changedRules.created.map((rule) => `+ ${describeRule(rule)}`),
    ...changedFilters.created.map((filter) => `+ filter ${filterKey(filter)}`),
    ...markedRules.map(
      (one) => `~ ${describeRule(one.stored)}: ${describeMarks(one.marks, one.stored)}`,
    ),
    ...markedFilters.map(
      (one) => `~ filter ${filterKey(one.stored)}: ${describeMarks(one.marks, one.stored)}`,
    ),
  ];
  if (all.length === 0) return;
  const words = all.slice(0, 10).join(', ') + (all.length > 10 ? ', and more' : '');
  const edit = {
    id: row.id,
    addRules: changedRules.created,
    addFilters: changedFilters.created,
    removeRules: changedRules.deleted.map(({ id }) => id),
    removeFilters: changedFilters.deleted.map(({ id }) => id),
    markRules: markedRules.map(({ stored, marks }) => ({ ...marks, id: stored.id })),
    markFilters: markedFilters.map(({ stored, marks }) => ({ ...marks, id: stored.id })),
  };
  draft.add({ do: 'group.edit', sign: '~', words, ...edit, ...change }, at);
}

interface AssignmentOwner {
  readonly kind: 'group' | 'geo';
  readonly organisation: string;
  readonly key: string;
  readonly subject: string;
}

interface Assigned extends DesiredTarget {
  readonly organisation: string;
  /** The object that is assigned, for messages. */
  readonly subject: string;
}

/** The holding that a target belongs to; undefined if the organisation does not hold it, which is refused or noted. */
export function findHolding(
  draft: PlanDraft,
  holdings: HoldingIndex,
  { target, at, organisation, subject }: Assigned,
): HoldingRef | undefined {
  const found = holdings.find(organisation, target);
  if ('ref' in found) return found.ref;
  const shown = showCidr(target);
  if ('ended' in found) {
    draft.note(`${subject} is not on ${shown}: ${organisation} does not hold it any more`);
  } else {
    const holder = found.holder === null ? '' : `; ${found.holder} does`;
    draft.refuse(at, `${organisation} does not hold ${shown}${holder}.`);
  }
  return undefined;
}

/** Plans which targets a group or geo rule is assigned to. */
function planTargets(
  draft: PlanDraft,
  { kind, organisation, key, subject }: AssignmentOwner,
  wanted: readonly DesiredTarget[],
  current: readonly CurrentAssignment[],
  holdings: HoldingIndex,
): void {
  const left = new Map(current.map((row) => [`${row.target} ${row.holdingId}`, row]));
  for (const each of wanted) {
    const { target, at } = each;
    const holding = findHolding(draft, holdings, { ...each, organisation, subject });
    if (holding === undefined) continue;
    if (holding.kind === 'existing' && left.delete(`${target} ${holding.id}`)) continue;
    const words = `on ${showCidr(target)}`;
    const change = { target, holding, key, subject, words, organisation };
    draft.add({ do: `${kind}.assign`, sign: '+', ...change }, at);
  }
  for (const { id: assignmentId, target } of left.values()) {
    const change = {
      target,
      assignmentId,
      subject,
      words: `off ${showCidr(target)}`,
      organisation,
    };
    draft.add({ do: `${kind}.unassign`, sign: '-', ...change });
  }
}

/** Identifies a geo rule, which has no name, by its content. */
export function geoKey({ action, countries, asns }: DesiredGeoRule['content']): string {
  return `${action} ${[...countries, ...asns.map((asn) => `AS${asn}`)].join(' ')}`;
}

export function planGeoRules(draft: PlanDraft, holdings: HoldingIndex): void {
  planMatching(draft, {
    wanted: draft.organisations.flatMap(({ slug, geoRules }) =>
      geoRules.map((rule) => ({ ...rule, slug, key: geoKey(rule.content) })),
    ),
    // A geo rule of the portal may equal one of the file.
    rows: draft.state.geoRules.filter(({ owner }) => owner === 'fleet'),
    subjectOf: ({ key }) => `geo rule ${key}`,
    wantedKey: ({ slug, key }) => `${slug} ${key}`,
    rowKey: (row) => `${draft.slugOf(row.organisationId)} ${geoKey(row)}`,
    save({ slug: organisation, key, content, targets, at }, row) {
      const subject = `geo rule ${key} (${organisation})`;
      if (row === undefined) {
        draft.add(
          { do: 'geo.create', sign: '+', subject, words: '', key, content, organisation },
          at,
        );
      }
      const owner = { kind: 'geo', organisation, key, subject } as const;
      planTargets(draft, owner, targets, row?.assignments ?? [], holdings);
    },
    remove(row) {
      const organisation = draft.slugOf(row.organisationId);
      const subject = `geo rule ${geoKey(row)} (${organisation})`;
      draft.add({ do: 'geo.delete', sign: '-', subject, words: '', id: row.id, organisation });
    },
  });
}
