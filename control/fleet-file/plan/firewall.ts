import { describeRule, filterKey, ruleKey } from '../../firewall/groups/index.ts';
import type { HoldingRef } from './change.ts';
import type {
  DesiredEdge,
  DesiredGeoRule,
  DesiredGroup,
  DesiredOrganisation,
  DesiredTarget,
  FleetFile,
} from '../desired.ts';
import type { Position } from '../mistakes.ts';
import { countOf, type PlanDraft, wordDifferences } from './draft.ts';
import { type HoldingIndex, showCidr } from './holdings.ts';
import type {
  CurrentAssignment,
  CurrentGeoRule,
  CurrentGroup,
  FleetState,
} from '../state/state.ts';

export function planGroups(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  holdings: HoldingIndex,
): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const keyOf = (group: CurrentGroup) => `${slugs.get(group.organisationId)} ${group.name}`;
  const current = new Map(state.groups.map((group) => [keyOf(group), group]));
  const wanted = new Set<CurrentGroup>();
  for (const { slug, groups } of organisations) {
    for (const group of groups) {
      const row = current.get(`${slug} ${group.name}`);
      if (row?.owner === 'portal') {
        draft.refuse(group.at, `The group ${group.name} belongs to the portal; change it there.`);
        continue;
      }
      if (row !== undefined) wanted.add(row);
      planGroup(draft, slug, row, group);
      const subject = `group ${group.name} (${slug})`;
      const targets = { wanted: group.targets, current: row?.assignments ?? [] };
      for (const step of planTargets(draft, slug, subject, targets, holdings)) {
        const told = { subject, words: step.words, organisation: slug, target: step.target };
        if (step.kind === 'assign') {
          const { holding } = step;
          draft.add(
            { do: 'group.assign', sign: '+', group: group.name, holding, ...told },
            step.at,
          );
        } else {
          draft.add({ do: 'group.unassign', sign: '-', assignmentId: step.assignmentId, ...told });
        }
      }
    }
  }
  for (const group of state.groups) {
    if (group.owner !== 'fleet' || wanted.has(group)) continue;
    const slug = slugs.get(group.organisationId) ?? '';
    const subject = `group ${group.name} (${slug})`;
    const words =
      group.assignments.length > 0 ? `off ${countOf(group.assignments.length, 'target')}` : '';
    draft.add({ do: 'group.delete', sign: '-', subject, words, id: group.id, organisation: slug });
  }
}

function planGroup(
  draft: PlanDraft,
  slug: string,
  row: CurrentGroup | undefined,
  group: DesiredGroup,
): void {
  const { name, rules, filters } = group;
  const told = { subject: `group ${name} (${slug})`, organisation: slug };
  if (row === undefined) {
    const words = `${countOf(rules.length, 'rule')}, ${countOf(filters.length, 'filter')}`;
    draft.add({ do: 'group.create', sign: '+', words, name, rules, filters, ...told }, group.at);
    return;
  }
  const ruleKeys = new Set(row.rules.map(ruleKey));
  const filterKeys = new Set(row.filters.map(filterKey));
  const wantedRules = new Set(rules.map(ruleKey));
  const wantedFilters = new Set(filters.map(filterKey));
  const addRules = rules.filter((rule) => !ruleKeys.has(ruleKey(rule)));
  const goneRules = row.rules.filter((rule) => !wantedRules.has(ruleKey(rule)));
  const addFilters = filters.filter((filter) => !filterKeys.has(filterKey(filter)));
  const goneFilters = row.filters.filter((filter) => !wantedFilters.has(filterKey(filter)));
  const words = [
    ...goneRules.map((rule) => `- ${describeRule(rule)}`),
    ...goneFilters.map((filter) => `- filter ${filterKey(filter)}`),
    ...addRules.map((rule) => `+ ${describeRule(rule)}`),
    ...addFilters.map((filter) => `+ filter ${filterKey(filter)}`),
  ];
  if (words.length === 0) return;
  const shown = words.slice(0, 10).join(', ') + (words.length > 10 ? ', and more' : '');
  draft.add(
    {
      do: 'group.edit',
      sign: '~',
      words: shown,
      id: row.id,
      addRules,
      addFilters,
      ...told,
      removeRules: goneRules.map(({ id }) => id),
      removeFilters: goneFilters.map(({ id }) => id),
    },
    group.at,
  );
}

type TargetStep = { readonly target: string; readonly words: string } & (
  | { readonly kind: 'assign'; readonly holding: HoldingRef; readonly at: Position }
  | { readonly kind: 'unassign'; readonly assignmentId: number }
);

function planTargets(
  draft: PlanDraft,
  slug: string,
  subject: string,
  targets: {
    readonly wanted: readonly DesiredTarget[];
    readonly current: readonly CurrentAssignment[];
  },
  holdings: HoldingIndex,
): TargetStep[] {
  const steps: TargetStep[] = [];
  const left = new Map(targets.current.map((row) => [`${row.target} ${row.holdingId}`, row]));
  for (const { target, at } of targets.wanted) {
    const found = holdings.find(slug, target);
    const shown = showCidr(target);
    if ('ended' in found) {
      draft.note(`${subject} is not on ${shown}: ${slug} does not hold it any more`);
    } else if ('holder' in found) {
      const holder = found.holder === null ? '' : `; ${found.holder} does`;
      draft.refuse(at, `${slug} does not hold ${shown}${holder}.`);
    } else {
      const { ref } = found;
      if (ref.kind === 'existing' && left.delete(`${target} ${ref.id}`)) continue;
      steps.push({ kind: 'assign', target, words: `on ${shown}`, holding: ref, at });
    }
  }
  for (const { id, target } of left.values()) {
    steps.push({ kind: 'unassign', target, words: `off ${showCidr(target)}`, assignmentId: id });
  }
  return steps;
}

/** A geo rule has no name: it is what it drops. */
export function geoKey(content: DesiredGeoRule['content']): string {
  const { action, countries, asns } = content;
  return `${action} ${[...countries, ...asns.map((asn) => `AS${asn}`)].join(' ')}`;
}

export function planGeoRules(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  holdings: HoldingIndex,
): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const own = state.geoRules.filter(({ owner }) => owner === 'fleet');
  const keyOf = (rule: CurrentGeoRule) => `${slugs.get(rule.organisationId)} ${geoKey(rule)}`;
  const current = new Map(own.map((rule) => [keyOf(rule), rule]));
  const wanted = new Set<CurrentGeoRule>();
  for (const { slug, geoRules } of organisations) {
    for (const { content, targets, at } of geoRules) {
      const key = geoKey(content);
      const subject = `geo rule ${key} (${slug})`;
      const row = current.get(`${slug} ${key}`);
      if (row !== undefined) wanted.add(row);
      else {
        draft.add(
          { do: 'geo.create', sign: '+', subject, words: '', key, content, organisation: slug },
          at,
        );
      }
      const both = { wanted: targets, current: row?.assignments ?? [] };
      for (const step of planTargets(draft, slug, subject, both, holdings)) {
        const told = { subject, words: step.words, organisation: slug, target: step.target };
        if (step.kind === 'assign') {
          draft.add({ do: 'geo.assign', sign: '+', key, holding: step.holding, ...told }, step.at);
        } else {
          draft.add({ do: 'geo.unassign', sign: '-', assignmentId: step.assignmentId, ...told });
        }
      }
    }
  }
  for (const rule of own) {
    if (wanted.has(rule)) continue;
    const slug = slugs.get(rule.organisationId) ?? '';
    const subject = `geo rule ${geoKey(rule)} (${slug})`;
    draft.add({ do: 'geo.delete', sign: '-', subject, words: '', id: rule.id, organisation: slug });
  }
}

export function planBaseline(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const left = new Map(state.baseline.map((row) => [`${row.prefix} ${ruleKey(row)}`, row]));
  for (const { prefix, rule, at } of file.baseline) {
    if (left.delete(`${prefix} ${ruleKey(rule)}`)) continue;
    const subject = `baseline of ${showCidr(prefix)}`;
    const words = describeRule(rule);
    draft.add(
      { do: 'baseline.add', sign: '+', subject, words, prefix, rule, organisation: null },
      at,
    );
  }
  for (const { id, prefix, ...rule } of left.values()) {
    const told = { subject: `baseline of ${showCidr(prefix)}`, words: describeRule(rule) };
    draft.add({ do: 'baseline.remove', sign: '-', id, prefix, organisation: null, ...told });
  }
}

export function planEdges(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const current = new Map(state.edges.map((edge) => [edge.name, edge]));
  for (const edge of file.edges) {
    const row = current.get(edge.name);
    current.delete(edge.name);
    const told = { edge, subject: `edge ${edge.name}`, organisation: null };
    if (row === undefined) {
      const words = `at ${edge.site}, ${edge.devices.join(', ')}`;
      draft.add({ do: 'edge.create', sign: '+', words, ...told }, edge.at);
    } else if (row.owner === 'portal') {
      draft.refuse(edge.at, `The edge ${edge.name} belongs to the portal; change it there.`);
    } else {
      const words = wordDifferences(wordEdge(row), wordEdge(edge));
      if (words !== '')
        draft.add({ do: 'edge.update', sign: '~', words, id: row.id, ...told }, edge.at);
    }
  }
  for (const { id, name, owner } of current.values()) {
    if (owner === 'portal') continue;
    const told = { subject: `edge ${name}`, words: '', organisation: null };
    draft.add({ do: 'edge.delete', sign: '-', id, ...told });
  }
}

function wordEdge(edge: Omit<DesiredEdge, 'at'>) {
  const { site, devices, serves, sees, fragments, management } = edge;
  const ports = management.map(({ protocol, port }) => `${protocol} ${port}`);
  return { site, devices, serves, sees, fragments, management: ports };
}
