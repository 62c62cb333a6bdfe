import { type Cidr, formatCidr, formatNetwork } from '@portcullis/core/net/cidr.ts';
import {
  appliesTo,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleKey,
} from '@portcullis/core/firewall/rules/content.ts';
import { describeRule } from '@portcullis/core/firewall/rules/describe.ts';

export interface GroupContent {
  readonly id: number;
  readonly name: string;
  readonly rules: readonly RuleContent[];
  readonly filters: readonly FilterContent[];
}

/** Objects that a group can conflict with in one holding: objects of its addresses, and the other groups. */
export interface HoldingContent {
  readonly limits: { readonly rulesPerIp: number; readonly filtersPerIp: number };
  /** Filter types that the holding's service applies itself. */
  readonly managedTypes: readonly string[];
  readonly addresses: readonly {
    readonly address: Cidr;
    readonly rules: number;
    readonly filters: number;
  }[];
  readonly assignments: readonly { readonly target: Cidr; readonly groupId: number }[];
  readonly groups: ReadonlyMap<number, GroupContent>;
}

export interface Conflict {
  /** The group that cannot be there. */
  readonly groupId: number;
  readonly code: 'rule_exists' | 'filter_exists' | 'limit_exceeded' | 'filter_unavailable';
  /** The address or prefix, as people write it. */
  readonly target: string;
  readonly reason: string;
}

/** The most conflicts that are listed; a group on a prefix applies to thousands of addresses. */
export const LISTED_CONFLICTS = 20;

/**
 * Finds objects that groups conflict with where they are assigned, but for own rules and filters equal to theirs (the
 * database finds those). It checks each address that has objects, and each assigned target, which represents the
 * addresses in it that have none.
 */
export function findConflicts(holding: HoldingContent, checked: ReadonlySet<number>): Conflict[] {
  const assignedTo = indexAssignments(holding.assignments);
  const conflicts: Conflict[] = [];
  for (const point of pointsOf(holding)) {
    const groupIds = assignedTo(point.target);
    for (const groupId of new Set(groupIds)) {
      if (!checked.has(groupId)) continue;
      const found = conflictsAt(holding, point, groupIds, groupId);
      conflicts.push(...found.map((conflict) => ({ ...conflict, groupId })));
    }
    if (conflicts.length > LISTED_CONFLICTS) break;
  }
  return conflicts;
}

interface Point {
  readonly target: Cidr;
  readonly rules: number;
  readonly filters: number;
}

function pointsOf(holding: HoldingContent): Point[] {
  const points = new Map<string, Point>();
  for (const { target } of holding.assignments) {
    points.set(formatCidr(target), { target, rules: 0, filters: 0 });
  }
  for (const { address, rules, filters } of holding.addresses) {
    points.set(formatCidr(address), { target: address, rules, filters });
  }
  return [...points.values()];
}

/** Finds the groups assigned to a target or to a containing prefix, by one look-up for each prefix length in use. */
function indexAssignments(
  assignments: HoldingContent['assignments'],
): (target: Cidr) => readonly number[] {
  const byPrefix = new Map<string, number[]>();
  const lengths = new Set<number>();
  for (const { target, groupId } of assignments) {
    const key = `${target.length} ${target.value}`;
    byPrefix.set(key, [...(byPrefix.get(key) ?? []), groupId]);
    lengths.add(target.length);
  }
  return ({ family, value, length }) => {
    const found: number[] = [];
    for (const candidate of lengths) {
      if (candidate > length) continue;
      const hostBits = BigInt((family === 4 ? 32 : 128) - candidate);
      const network = (value >> hostBits) << hostBits;
      found.push(...(byPrefix.get(`${candidate} ${network}`) ?? []));
    }
    return found;
  };
}

type Found = Omit<Conflict, 'groupId'>;

function conflictsAt(
  holding: HoldingContent,
  point: Point,
  groupIds: readonly number[],
  groupId: number,
): Found[] {
  const target = formatNetwork(point.target);
  const group = holding.groups.get(groupId);
  if (group === undefined) return [];
  if (groupIds.filter((id) => id === groupId).length > 1) {
    const reason = `the group ${group.name} is already on it through a prefix around it`;
    return [{ code: 'rule_exists', target, reason }];
  }
  const others = groupIds.filter((id) => id !== groupId);
  const otherGroups = others.flatMap((id) => holding.groups.get(id) ?? []);
  return [
    ...equalContent(group, otherGroups, point, target),
    ...passedLimits(holding, [group, ...otherGroups], point, target),
    ...group.filters
      .filter(({ type }) => holding.managedTypes.includes(type))
      .map((filter): Found => {
        const reason = `its service manages ${filter.type} itself, so ${filterKey(filter)} cannot be applied`;
        return { code: 'filter_unavailable', target, reason };
      }),
  ];
}

function equalContent(
  group: GroupContent,
  otherGroups: readonly GroupContent[],
  point: Point,
  target: string,
): Found[] {
  const conflicts: Found[] = [];
  const ruleKeys = new Set(group.rules.map(ruleKey));
  const filterKeys = new Set(group.filters.map(filterKey));
  for (const other of otherGroups) {
    for (const rule of other.rules) {
      if (!ruleKeys.has(ruleKey(rule)) || !appliesTo(rule, point.target.family)) continue;
      const reason = `the group ${other.name} has the rule "${describeRule(rule)}" too`;
      conflicts.push({ code: 'rule_exists', target, reason });
    }
    for (const filter of other.filters) {
      if (!filterKeys.has(filterKey(filter))) continue;
      const reason = `the group ${other.name} has the filter ${filterKey(filter)} too`;
      conflicts.push({ code: 'filter_exists', target, reason });
    }
  }
  return conflicts;
}

function passedLimits(
  holding: HoldingContent,
  groups: readonly GroupContent[],
  point: Point,
  target: string,
): Found[] {
  const conflicts: Found[] = [];
  const { rulesPerIp, filtersPerIp } = holding.limits;
  let { rules, filters } = point;
  for (const group of groups) {
    rules += group.rules.filter((rule) => appliesTo(rule, point.target.family)).length;
    filters += group.filters.length;
  }
  if (rules > rulesPerIp) {
    const reason = `it would have ${rules} rules, and at most ${rulesPerIp} are allowed on an address`;
    conflicts.push({ code: 'limit_exceeded', target, reason });
  }
  if (filters > filtersPerIp) {
    const reason = `it would have ${filters} filters, and at most ${filtersPerIp} are allowed on an address`;
    conflicts.push({ code: 'limit_exceeded', target, reason });
  }
  return conflicts;
}
