import type {
  AcceptedAddress,
  AcceptedFilter,
  AcceptedRule,
  AddressReplacement,
  ExplainedChange,
} from '@portcullis/client/generated/operations.ts';
import { countOf } from '@portcullis/core/count.ts';
import {
  findDecidingRule,
  findDefeatingAllows,
  isDefaultAlready,
} from '@portcullis/core/firewall/decide/no-effect.ts';
import type { RuleProtocol } from '@portcullis/core/firewall/policy.ts';
import { type Accepted, isOwn, ownObjects, sentFilter, sentRule } from '../address.ts';
import { portExpression } from '@portcullis/core/net/ports.ts';
import {
  ruleIdentity,
  type WantedAddress,
  type WantedFilter,
  type WantedRule,
} from './rules-file.ts';

/** An address as it is accepted. */
export interface AddressState {
  readonly accepted: Accepted;
  /** The version that a replace names, so that it meets the state that was planned. */
  readonly etag: string | null;
  /** Networks that are blocked on this address itself. */
  readonly blocked: readonly string[];
}

/** One line of a plan. */
export interface Change {
  readonly sign: '+' | '-' | '~';
  readonly effect: 'opens' | 'closes' | 'filters' | 'marks';
  readonly text: string;
  /** The same in fields, for programs. */
  readonly object: ChangedObject;
}

/** The object that a change adds, removes or changes. */
export type ChangedObject =
  | {
      readonly kind: 'rule';
      readonly action: 'allow' | 'deny';
      readonly protocol: string;
      /** A port expression or `SERVER:PORT`; null: any. */
      readonly destination_port: string | null;
      readonly source_ip: string | null;
      readonly ref: string | null;
      readonly expires_at: string | null;
    }
  | { readonly kind: 'filter'; readonly type: string; readonly port: string }
  | { readonly kind: 'default'; readonly from: string; readonly to: string }
  | { readonly kind: 'blocked'; readonly sources: readonly string[] };

/** The plan that makes an address as the file says. */
export interface AddressPlan {
  readonly ip: string;
  readonly changes: readonly Change[];
  /** Notes on what changes nothing, and why. */
  readonly notes: readonly string[];
  /** Why control would refuse it. */
  readonly problem: string | null;
  /** Null: own rules and filters stay. */
  readonly replacement: Pick<AddressReplacement, 'rules' | 'filters'> | null;
  readonly etag: string | null;
  /** Null: it stays. */
  readonly default: 'accept' | 'deny' | null;
  readonly block: readonly string[];
  readonly unblock: readonly string[];
  /** The same as one change that explain evaluates; null: nothing changes. */
  readonly change: ExplainedChange | null;
}

/** Compares an address with the file. Without `prune` what the file does not name stays. */
export function planAddress(
  wanted: WantedAddress,
  { accepted, etag, blocked }: AddressState,
  { prune }: { readonly prune: boolean },
): AddressPlan {
  const { data, meta } = accepted;
  const rules = planRules(wanted.rules, accepted, prune);
  const filters = planFilters(wanted.filters, data, prune);
  const fallback =
    wanted.default === undefined || wanted.default === data.default ? null : wanted.default;
  const sources = planBlocked(wanted.blocked, blocked, prune);
  const replaced = [...rules.changes, ...filters.changes];
  const left = [...rules.left, ...filters.left, ...sources.left.map((one) => `blocked ${one}`)];
  const changes = [
    ...replaced,
    ...(fallback === null ? [] : [defaultChange(data.default, fallback)]),
    ...listed('+', 'closes', 'blocks', sources.block),
    ...listed('-', 'opens', 'unblocks', sources.unblock),
  ];
  const { block, unblock } = sources;
  const sent = { rules: rules.sent, filters: filters.sent };
  return {
    ip: wanted.ip,
    changes,
    notes: [
      ...noEffects(rules.added, rules.kept, fallback ?? data.default),
      ...rules.grouped,
      ...filters.grouped,
      ...(left.length === 0
        ? []
        : [
            `${countOf(left.length, 'object')} not in the file, left alone (--prune): ${some(left)}`,
          ]),
    ],
    problem: overLimit(meta.limits, rules.count, filters.count),
    replacement: replaced.length === 0 ? null : sent,
    etag,
    default: fallback,
    block,
    unblock,
    change: changes.length === 0 ? null : changeOf(sent, fallback, wanted.blocked && sources.after),
  };
}

/** The change as one that explain evaluates. */
function changeOf(
  sent: Pick<AddressReplacement, 'rules' | 'filters'>,
  fallback: 'accept' | 'deny' | null,
  blocked: readonly string[] | undefined,
): ExplainedChange {
  return {
    ...sent,
    ...(fallback !== null && { default: fallback }),
    ...(blocked !== undefined && { blocked }),
  };
}

/** Sources to block and to unblock, those that stay although the file lacks them, and all of them afterwards. */
function planBlocked(
  wanted: readonly string[] | undefined,
  blocked: readonly string[],
  prune: boolean,
) {
  const block = (wanted ?? []).filter((source) => !blocked.includes(source));
  const unneeded = wanted === undefined ? [] : blocked.filter((source) => !wanted.includes(source));
  const unblock = prune ? unneeded : [];
  const after = [...blocked.filter((source) => !unblock.includes(source)), ...block];
  return { block, unblock, left: prune ? [] : unneeded, after };
}

/** Wide of what a person reads in one line. */
const NAMED = 8;

function some(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function overLimit(
  limits: AcceptedAddress['meta']['limits'],
  rules: number,
  filters: number,
): string | null {
  const over = (count: number, limit: number, what: string): string | null =>
    count > limit
      ? `it would have ${count} ${what}, and the limit of the organisation is ${limit}`
      : null;
  return (
    over(rules, limits.rules_per_ip, 'rules') ?? over(filters, limits.filters_per_ip, 'filters')
  );
}

function defaultChange(from: string, to: 'accept' | 'deny'): Change {
  const effect = to === 'accept' ? 'opens' : 'closes';
  const text = `default ${from} becomes ${to}`;
  return { sign: '~', effect, text, object: { kind: 'default', from, to } };
}

function listed(
  sign: Change['sign'],
  effect: Change['effect'],
  verb: string,
  names: readonly string[],
): Change[] {
  if (names.length === 0) return [];
  const object: ChangedObject = { kind: 'blocked', sources: names };
  return [{ sign, effect, text: `${verb} ${some(names)}`, object }];
}

interface RulePlan {
  readonly changes: readonly Change[];
  readonly added: readonly WantedRule[];
  /** Rules that stay, with those of groups. */
  readonly kept: readonly AcceptedRule[];
  readonly grouped: readonly string[];
  /** Own rules that the file does not name and that stay. */
  readonly left: readonly string[];
  readonly sent: AddressReplacement['rules'];
  /** The number of rules of the address afterwards, those of groups included. */
  readonly count: number;
}

function planRules(
  wanted: readonly WantedRule[] | undefined,
  { data, meta }: Accepted,
  prune: boolean,
): RulePlan {
  const maxPorts = meta.limits.max_ports_per_request;
  const own = ownObjects(data).rules;
  const grouped = data.rules.filter((rule) => !isOwn(rule) && rule.status !== 'going');
  const byGroup = new Map(grouped.map((rule) => [identityOf(rule), rule]));
  const there = new Map(own.map((rule) => [identityOf(rule), rule]));
  const named = new Map((wanted ?? []).map((rule) => [ruleIdentity(rule), rule]));
  const refs = new Set((wanted ?? []).flatMap(({ ref }) => ref ?? []));
  const missing = [...named].filter(([name]) => !there.has(name));
  const added = missing.flatMap(([name, rule]) => (byGroup.has(name) ? [] : [rule]));
  const unnamed = wanted === undefined ? [] : own.filter((rule) => !named.has(identityOf(rule)));
  // A rule of a ref that the file gives to another rule gives way to it.
  const removed = unnamed.filter(({ ref }) => prune || (ref !== null && refs.has(ref)));
  const staying = own.filter((rule) => !removed.includes(rule));
  const marks = staying.flatMap((rule) => marksOf(rule, named.get(identityOf(rule)), refs) ?? []);
  return {
    changes: [
      ...describe('+', added),
      ...describe('-', removed.map(asWanted)),
      ...marks.map((one) => one.change),
    ],
    added,
    kept: [...grouped, ...staying],
    grouped: missing.flatMap(([name, rule]) => {
      const group = byGroup.get(name)?.managed_by_group;
      return group ? [`${ruleText(rule)} is there already, of the group "${group.name}"`] : [];
    }),
    left: describeRules(unnamed.filter((rule) => !removed.includes(rule)).map(asWanted)),
    sent: [
      ...staying.map((rule) => marks.find(({ id }) => id === rule.id)?.sent ?? sentRule(rule)),
      ...sentAdded(added, maxPorts),
    ],
    count: grouped.length + staying.length + added.length,
  };
}

function identityOf(rule: AcceptedRule): string {
  return ruleIdentity(asWanted(rule));
}

export function asWanted(rule: AcceptedRule): WantedRule {
  const { action, protocol, source_ip: source, named_port: namedPort, ref, expires_at } = rule;
  const port = namedPort === null ? rule.destination_port : null;
  return { action, protocol, source, port, namedPort, ref, expiresAt: expires_at };
}

/** Sends rules in the fewest requests that the limit on the ports of one allows. */
function sentAdded(rules: readonly WantedRule[], maxPorts: number): AddressReplacement['rules'] {
  return groupRules(rules).flatMap(([first, ports]) => {
    if (ports.length < 2) return [sentWanted(first)];
    const parts = Array.from({ length: Math.ceil(ports.length / maxPorts) }, (_, index) =>
      ports.slice(index * maxPorts, (index + 1) * maxPorts),
    );
    return parts.map((part) => ({ ...sentWanted(first), destination_port: portExpression(part) }));
  });
}

function sentWanted(rule: WantedRule): AddressReplacement['rules'][number] {
  const { action, protocol, source, port, namedPort, ref, expiresAt } = rule;
  return {
    action,
    protocol,
    source_ip: source,
    ...(namedPort === null ? { destination_port: port } : { named_port: namedPort }),
    ...(ref !== undefined && { ref }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  } as AddressReplacement['rules'][number];
}

/** The change of name and end that a staying rule gets; null if it has them. */
function marksOf(rule: AcceptedRule, wanted: WantedRule | undefined, refs: ReadonlySet<string>) {
  if (wanted === undefined) return null;
  // The file may give its name to another rule.
  const kept = rule.ref !== null && refs.has(rule.ref) ? null : rule.ref;
  const { ref = kept, expiresAt = rule.expires_at } = wanted;
  const seconds = (moment: string | null): number | null =>
    moment === null ? null : Math.ceil(Date.parse(moment) / 1_000);
  if (ref === rule.ref && seconds(expiresAt) === seconds(rule.expires_at)) return null;
  const end = expiresAt === null ? 'without an end' : `until ${expiresAt}`;
  const text = `${ruleText(wanted)}: ${ref === null ? 'no ref' : `ref "${ref}"`}, ${end}`;
  const object = ruleObject({ ...wanted, ref, expiresAt }, []);
  const change: Change = { sign: '~', effect: 'marks', text, object };
  return { id: rule.id, change, sent: { ...sentRule(rule), ref, expires_at: expiresAt } };
}

/** Rules that differ only in their ports are one line. */
function describe(sign: '+' | '-', rules: readonly WantedRule[]): Change[] {
  return (['allow', 'deny'] as const).flatMap((action) => {
    const isOpening = (action === 'allow') === (sign === '+');
    return groupRules(rules.filter((rule) => rule.action === action)).map(([first, ports]) => ({
      sign,
      effect: isOpening ? ('opens' as const) : ('closes' as const),
      text: groupText(first, ports),
      object: ruleObject(first, ports),
    }));
  });
}

function ruleObject(rule: WantedRule, ports: readonly number[]): ChangedObject {
  const { action, protocol, source, port, namedPort, ref, expiresAt } = rule;
  const one = port === null ? null : String(port);
  return {
    kind: 'rule',
    action,
    protocol,
    destination_port: ports.length > 1 ? portExpression(ports) : (namedPort ?? one),
    source_ip: source,
    ref: ref ?? null,
    expires_at: expiresAt ?? null,
  };
}

export function describeRules(rules: readonly WantedRule[]): string[] {
  return groupRules(rules).map(([first, ports]) => groupText(first, ports));
}

function groupText(first: WantedRule, ports: readonly number[]): string {
  return ports.length < 2 ? ruleText(first) : ruleText(first, portExpression(ports));
}

/** Rules that are equal but for their ports, and have no marks, with those ports. */
export function groupRules(rules: readonly WantedRule[]): [WantedRule, number[]][] {
  const groups = Map.groupBy(rules, (rule) => {
    const { action, protocol, source, namedPort, port, ref = null, expiresAt = null } = rule;
    const own = ref !== null || namedPort !== null || port === null ? ruleIdentity(rule) : '';
    return JSON.stringify([action, protocol, source, expiresAt, own]);
  });
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [[first, group.flatMap(({ port }) => port ?? [])]];
  });
}

export function ruleText(rule: WantedRule, ports?: string): string {
  const port = ports ?? rule.namedPort ?? rule.port;
  return [
    `${rule.action} ${rule.protocol}`,
    ...(port === null ? [] : [String(port)]),
    ...(rule.source === null ? [] : [`from ${rule.source}`]),
    ...(rule.ref ? [`(${rule.ref})`] : []),
  ].join(' ');
}

/** More are not compared: a file may have thousands. */
const MAX_COMPARED = 300;

/** Sentences on rules that change no verdict. Geo rules may come between, which only control knows. */
function noEffects(
  added: readonly WantedRule[],
  kept: readonly AcceptedRule[],
  fallback: 'accept' | 'deny',
): string[] {
  const known = kept.map((rule) => ({ ...matchOf(asWanted(rule)), rule }));
  const compared = added.filter(({ namedPort }) => namedPort === null).slice(0, MAX_COMPARED);
  const all = [...known, ...added.map(matchOf)];
  const byReason = Map.groupBy(compared, (rule) => {
    const match = matchOf(rule);
    const decider = findDecidingRule(known, match, true)?.rule;
    if (decider !== undefined) return becauseOf(decider);
    if (isDefaultAlready(match, { default: fallback, rules: all, hasGeoRules: false })) {
      return `changes nothing: what no rule matches is ${fallback === 'deny' ? 'dropped' : 'open'} already`;
    }
    const [allow] = findDefeatingAllows(all, match);
    return allow === undefined
      ? null
      : `does not stop what an allow opens; "blocked" drops everything of ${rule.source}`;
  });
  return [...byReason].flatMap(([reason, rules]) =>
    reason === null ? [] : describeRules(rules).map((text) => `${text} ${reason}`),
  );
}

function becauseOf(decider: AcceptedRule): string {
  const group = decider.managed_by_group;
  const owner = group === null ? '' : ` of the group "${group.name}"`;
  return `changes nothing: rule ${decider.id}${owner} (${ruleText(asWanted(decider))}) decides first`;
}

function matchOf({ action, protocol, port, source }: WantedRule) {
  return { action, protocol: protocol as RuleProtocol, port, source };
}

function planFilters(
  wanted: readonly WantedFilter[] | undefined,
  data: AcceptedAddress['data'],
  prune: boolean,
) {
  const own = ownObjects(data).filters;
  const grouped = data.filters.filter((one) => !isOwn(one) && one.status !== 'going');
  const name = ({ type, port }: { readonly type: string; readonly port: number }): string =>
    `${type} ${port}`;
  const there = new Map(own.map((one) => [name(one), one]));
  const byGroup = new Map(grouped.map((one) => [name(one), one]));
  const named = new Map((wanted ?? []).map((one) => [name(one), one]));
  const missing = [...named.values()].filter((one) => !there.has(name(one)));
  const added = missing.filter((one) => !byGroup.has(name(one)));
  const unnamed = wanted === undefined ? [] : own.filter((one) => !named.has(name(one)));
  const removed = prune ? unnamed : [];
  const staying = own.filter((one) => !removed.includes(one));
  const changed = staying.filter((one) => !hasSettings(one, named.get(name(one))));
  const texts = (list: readonly TypedPort[]): string[] =>
    portsOfTypes(list).map((one) => one.join(' '));
  const lines = (sign: Change['sign'], list: readonly WantedFilter[], more = ''): Change[] =>
    portsOfTypes(list).map(([type, port]) => ({
      sign,
      effect: 'filters' as const,
      text: `${type} ${port}${more}`,
      object: { kind: 'filter' as const, type, port },
    }));
  return {
    changes: [
      ...lines('+', added, ': connections through it open again'),
      ...lines('-', removed),
      ...lines('~', changed, ': settings'),
    ],
    grouped: missing.flatMap((one) => {
      const group = byGroup.get(name(one))?.managed_by_group;
      return group ? [`filter ${name(one)} is there already, of the group "${group.name}"`] : [];
    }),
    left: prune ? [] : texts(unnamed),
    sent: [
      ...staying.map((one) => {
        const settings = named.get(name(one))?.settings;
        return settings === undefined ? sentFilter(one) : { ...sentFilter(one), settings };
      }),
      ...added,
    ] as AddressReplacement['filters'],
    count: grouped.length + staying.length + added.length,
  };
}

type TypedPort = Pick<WantedFilter, 'type' | 'port'>;

/** Filters by their type, with a port expression. */
function portsOfTypes(list: readonly TypedPort[]): [type: string, ports: string][] {
  return [...Map.groupBy(list, ({ type }) => type)].map(([type, ports]) => [
    type,
    portExpression(ports.map(({ port }) => port)),
  ]);
}

function hasSettings({ settings }: AcceptedFilter, wanted: WantedFilter | undefined): boolean {
  if (wanted?.settings === undefined) return true;
  const asked = wanted.settings;
  return Object.entries(settings).every(([name, value]) => (asked[name] ?? null) === value);
}
