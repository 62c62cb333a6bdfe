import { portExpression } from '../../net/ports.ts';
import type { RuleAction } from '../policy.ts';
import { type FilterContent, filterKey, ruleIdentity, type WantedRule } from './content.ts';
import type { Difference } from './difference.ts';
import { type changedMarks, describeMarks, type Marks } from './marks.ts';

/**
 * The fields of a rule that its description reads. A port may be an expression as a form has it, and a protocol one of a
 * later version.
 */
export interface DescribedRule {
  readonly action: RuleAction;
  readonly protocol: string;
  readonly source: string | null;
  readonly port: number | string | null;
  readonly namedPort?: WantedRule['namedPort'];
}

/** `deny udp 19 from 192.0.2.0/24`, which a pasted line may be too; `ports` replaces the one of the rule. */
export function describeRule(rule: DescribedRule, ports: readonly number[] = []): string {
  const port = ports.length > 1 ? portExpression(ports) : portText(rule);
  return [
    `${rule.action} ${rule.protocol}`,
    ...(port === null ? [] : [port]),
    ...(rule.source === null ? [] : [`from ${rule.source}`]),
  ].join(' ');
}

/** The port as callers write it; null: any. */
function portText({ namedPort, port }: Omit<DescribedRule, 'action'>): string | null {
  return namedPort?.shown ?? (port === null ? null : String(port));
}

/** Rules that differ only in their ports, with those ports. A rule with a ref or a named port stands alone. */
export function joinPorts<R extends WantedRule>(rules: readonly R[]): [rule: R, ports: number[]][] {
  const alike = Map.groupBy(rules, (rule) => {
    const { action, protocol, source, namedPort, port, ref = null, expiresAt = null, note } = rule;
    const own = ref !== null || (namedPort ?? null) !== null || port === null;
    const end = expiresAt?.getTime();
    return JSON.stringify([action, protocol, source, end, note, own ? ruleIdentity(rule) : '']);
  });
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [[first, group.flatMap(({ port }) => port ?? [])]];
  });
}

/** A line for rules that differ only in their ports, with the ref: `allow tcp 80,443`, `allow tcp 22 (ci-ssh)`. */
export function describeRules(rules: readonly WantedRule[]): string[] {
  return joinPorts(rules).map(([rule, ports]) => describeNamed(rule, ports));
}

function describeNamed(rule: WantedRule, ports: readonly number[]): string {
  return `${describeRule(rule, ports)}${rule.ref ? ` (${rule.ref})` : ''}`;
}

/** A change of the rules and filters of an address or a group, for people and programs. */
export interface DescribedChange {
  readonly operation: 'add' | 'remove' | 'change';
  readonly effect: 'opens' | 'closes' | 'filters' | 'marks';
  /** `allow tcp 80,443`, without the operation. */
  readonly text: string;
  readonly object: DescribedObject;
}

export type DescribedObject =
  | {
      readonly kind: 'rule';
      readonly action: RuleAction;
      readonly protocol: string;
      /** A port expression or `SERVER:PORT`; null: any. */
      readonly destinationPort: string | null;
      readonly source: string | null;
      readonly ref: string | null;
      readonly expiresAt: Date | null;
    }
  | { readonly kind: 'filter'; readonly type: string; readonly port: string };

/** The differences of the rules and of the filters together, and the marks that stay not as they are. */
export interface ContentDifference {
  readonly rules: Difference<WantedRule, WantedRule>;
  readonly filters: Difference<FilterContent, FilterContent>;
  readonly marked: readonly Pick<
    ReturnType<typeof changedMarks<WantedRule, WantedRule & Marks>>[number],
    'stored' | 'marks'
  >[];
}

/** A difference as changes, additions first; objects that differ only in their ports are one. */
export function describeDifference({
  rules,
  filters,
  marked,
}: ContentDifference): DescribedChange[] {
  const deleted = new Set(filters.deleted.map(filterKey));
  const created = new Set(filters.created.map(filterKey));
  const isNew = (one: FilterContent): boolean => !deleted.has(filterKey(one));
  const reconnects = ': connections through it open again';
  return [
    ...ruleChanges('add', rules.created),
    ...ruleChanges('remove', rules.deleted),
    ...marked.map(({ stored, marks }) => markChange({ ...stored, ...marks }, stored)),
    ...filterChanges('add', filters.created.filter(isNew), reconnects),
    ...filterChanges(
      'remove',
      filters.deleted.filter((one) => !created.has(filterKey(one))),
    ),
    ...filterChanges(
      'change',
      filters.created.filter((one) => !isNew(one)),
      ': settings',
    ),
  ];
}

function ruleChanges(operation: 'add' | 'remove', rules: readonly WantedRule[]): DescribedChange[] {
  return (['allow', 'deny'] as const).flatMap((action) => {
    const isOpening = (action === 'allow') === (operation === 'add');
    return joinPorts(rules.filter((rule) => rule.action === action)).map(([rule, ports]) => ({
      operation,
      effect: isOpening ? ('opens' as const) : ('closes' as const),
      text: describeNamed(rule, ports),
      object: describedRule(rule, ports),
    }));
  });
}

function markChange(rule: WantedRule, stored: WantedRule): DescribedChange {
  const text = `${describeNamed(stored, [])}: ${describeMarks(rule, stored)}`;
  return { operation: 'change', effect: 'marks', text, object: describedRule(rule, []) };
}

function describedRule(rule: WantedRule, ports: readonly number[]): DescribedObject {
  const { action, protocol, source, ref = null, expiresAt = null } = rule;
  const destinationPort = ports.length > 1 ? portExpression(ports) : portText(rule);
  return { kind: 'rule', action, protocol, destinationPort, source, ref, expiresAt };
}

function filterChanges(
  operation: DescribedChange['operation'],
  filters: readonly FilterContent[],
  more = '',
): DescribedChange[] {
  return joinFilterPorts(filters).map(([type, port]) => ({
    operation,
    effect: 'filters',
    text: `${type} ${port}${more}`,
    object: { kind: 'filter', type, port },
  }));
}

/** Filters by their type, with a port expression. */
export function joinFilterPorts(
  filters: readonly FilterContent[],
): [type: string, ports: string][] {
  return [...Map.groupBy(filters, ({ type }) => type)].map(([type, ports]) => [
    type,
    portExpression(ports.map(({ port }) => port)),
  ]);
}
