import type {
  AcceptedAddress,
  AcceptedFilter,
  AcceptedRule,
  AddressReplacement,
  AddressReplaced,
  ExplainedChange,
} from '@portcullis/client/generated/operations.ts';
import { InvalidRequestError } from '@portcullis/client/errors.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { countOf } from '@portcullis/core/count.ts';
import {
  filterKey,
  ruleIdentity,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import {
  describeRule,
  describeRules,
  joinFilterPorts,
  joinPorts,
} from '@portcullis/core/firewall/rules/describe.ts';
import { difference } from '@portcullis/core/firewall/rules/difference.ts';
import {
  changedMarks,
  type Marks,
  parsedMarks,
  writtenMarks,
} from '@portcullis/core/firewall/rules/marks.ts';
import type { RuleProtocol } from '@portcullis/core/firewall/policy.ts';
import { parsePortName } from '@portcullis/core/firewall/rules/entry.ts';
import { portExpression } from '@portcullis/core/net/ports.ts';
import { type Accepted, isOwn, ownObjects, sentFilter, sentRule } from '../address.ts';
import type { WantedAddress, WantedFilter } from './rules-file.ts';

/** An address as it is accepted. */
export interface AddressState {
  readonly accepted: Accepted;
  /** The version that a replace names, so that it meets the state that was planned. */
  readonly etag: string | null;
  /** Networks that are blocked on this address itself. */
  readonly blocked: readonly string[];
}

type RuleChange = AddressReplaced['data']['difference']['changes'][number];

/** A line of a plan, for people and programs: of rules and filters as control describes it. */
export type Change = Pick<RuleChange, 'operation' | 'effect' | 'text'> & {
  readonly object:
    | ({ readonly kind: 'rule' } & NonNullable<RuleChange['rule']>)
    | ({ readonly kind: 'filter' } & NonNullable<RuleChange['filter']>)
    | { readonly kind: 'default'; readonly from: string; readonly to: string }
    | { readonly kind: 'blocked'; readonly sources: readonly string[] };
};

type Body = Pick<AddressReplacement, 'rules' | 'filters'>;

/** An address with the file put into it. */
export interface MergedAddress {
  readonly ip: string;
  /** Null: own rules and filters stay as they are. */
  readonly replacement: Body | null;
  readonly etag: string | null;
  /** Null: it stays. */
  readonly default: 'accept' | 'deny' | null;
  readonly block: readonly string[];
  readonly unblock: readonly string[];
  /** The same as one change that explain evaluates; null: nothing changes. */
  readonly change: ExplainedChange | null;
  /** Changes of the default and of blocked sources. */
  readonly settings: readonly Change[];
  /** Notes on what the file names and a group has, and on what it does not name and stays. */
  readonly notes: readonly string[];
}

/** The plan that makes an address as the file says. */
export interface AddressPlan extends Omit<MergedAddress, 'settings'> {
  readonly changes: readonly Change[];
  /** Why control would refuse it. */
  readonly problem: string | null;
}

/** Puts the file into an address. Without `prune` what the file does not name stays. */
export function mergeAddress(
  wanted: WantedAddress,
  { accepted, etag, blocked }: AddressState,
  { prune }: { readonly prune: boolean },
): MergedAddress {
  const { data } = accepted;
  const rules = mergeRules(wanted.rules, accepted, prune);
  const filters = mergeFilters(wanted.filters, data, prune);
  const fallback =
    wanted.default === undefined || wanted.default === data.default ? null : wanted.default;
  const { block, unblock, left, after } = mergeBlocked(wanted.blocked, blocked, prune);
  const kept = [...rules.left, ...filters.left, ...left.map((one) => `blocked ${one}`)];
  const sent = { rules: rules.sent, filters: filters.sent };
  const replacement = rules.isChanged || filters.isChanged ? sent : null;
  const isSame = replacement === null && fallback === null && block.length + unblock.length === 0;
  return {
    ip: wanted.ip,
    replacement,
    etag,
    default: fallback,
    block,
    unblock,
    change: isSame ? null : changeOf(sent, fallback, wanted.blocked && after),
    settings: [
      ...(fallback === null ? [] : [defaultChange(data.default, fallback)]),
      ...blockedChange('add', block),
      ...blockedChange('remove', unblock),
    ],
    notes: [
      ...rules.grouped,
      ...filters.grouped,
      ...(kept.length === 0
        ? []
        : [
            `${countOf(kept.length, 'object')} not in the file, left alone (--prune): ${some(kept)}`,
          ]),
    ],
  };
}

/** Asks control what a merged address changes, and why control would refuse it. Writes nothing. */
export async function planAddress(client: KeyClient, merged: MergedAddress): Promise<AddressPlan> {
  const { settings, ...rest } = merged;
  const { ip, replacement, default: fallback } = merged;
  if (replacement === null) return { ...rest, changes: settings, problem: null };
  const body = { ...replacement, ...(fallback !== null && { default: fallback }) };
  try {
    const { data } = await client.replaceAddress({ ip, body, query: { dry_run: true } });
    const { changes, notes } = data.difference;
    return {
      ...rest,
      replacement: changes.length === 0 ? null : replacement,
      changes: [...changes.map(changeOfRules), ...settings],
      notes: [...notes, ...merged.notes],
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    return { ...rest, changes: settings, problem: error.message };
  }
}

function changeOfRules({ operation, effect, text, rule, filter }: RuleChange): Change {
  if (rule !== null) return { operation, effect, text, object: { kind: 'rule', ...rule } };
  if (filter !== null) return { operation, effect, text, object: { kind: 'filter', ...filter } };
  throw new Error('control described a change of nothing');
}

/** The change as one that explain evaluates. */
function changeOf(
  sent: Body,
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
function mergeBlocked(
  wanted: readonly string[] | undefined,
  blocked: readonly string[],
  prune: boolean,
) {
  const { created: block, deleted } = difference(blocked, wanted ?? blocked, String);
  const unblock = prune ? deleted : [];
  const after = [...blocked.filter((source) => !unblock.includes(source)), ...block];
  return { block, unblock, left: prune ? [] : deleted, after };
}

/** Wide of what a person reads in one line. */
const NAMED = 8;

function some(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function defaultChange(from: string, to: 'accept' | 'deny'): Change {
  const effect = to === 'accept' ? 'opens' : 'closes';
  const text = `default ${from} becomes ${to}`;
  return { operation: 'change', effect, text, object: { kind: 'default', from, to } };
}

function blockedChange(operation: 'add' | 'remove', sources: readonly string[]): Change[] {
  if (sources.length === 0) return [];
  const [effect, verb] =
    operation === 'add' ? (['closes', 'blocks'] as const) : (['opens', 'unblocks'] as const);
  const text = `${verb} ${some(sources)}`;
  return [{ operation, effect, text, object: { kind: 'blocked', sources } }];
}

interface Merged<Sent> {
  readonly isChanged: boolean;
  readonly sent: readonly Sent[];
  /** Notes on what the file names and a group has. */
  readonly grouped: readonly string[];
  /** Own objects that the file does not name and that stay. */
  readonly left: readonly string[];
}

function mergeRules(
  wanted: readonly WantedRule[] | undefined,
  { data, meta }: Accepted,
  prune: boolean,
): Merged<AddressReplacement['rules'][number]> {
  const own = ownObjects(data).rules.map(asWanted);
  const grouped = data.rules.filter((rule) => !isOwn(rule) && rule.status !== 'going');
  const byGroup = new Map(grouped.map((rule) => [ruleIdentity(asWanted(rule)), rule]));
  const { created, deleted, kept } = difference(own, wanted ?? own, ruleIdentity);
  const added = created.filter((rule) => !byGroup.has(ruleIdentity(rule)));
  const refs = new Set((wanted ?? []).flatMap(({ ref }) => ref ?? []));
  // A rule of a ref that the file gives to another rule gives way to it.
  const removed = new Set(deleted.filter(({ ref }) => prune || (ref !== null && refs.has(ref))));
  const marked = changedMarks(kept, wanted ?? []);
  const marks = new Map(marked.map((one) => [one.stored, one.marks]));
  return {
    isChanged: added.length + removed.size + marked.length > 0,
    sent: [
      ...own
        .filter((rule) => !removed.has(rule))
        .map((rule) => ({ ...sentRule(rule.accepted), ...writtenMarks(marks.get(rule) ?? {}) })),
      ...sentAdded(added, meta.limits.max_ports_per_request),
    ],
    grouped: created.flatMap((rule) => {
      const group = byGroup.get(ruleIdentity(rule))?.managed_by_group;
      return group ? [`${describeRule(rule)} is there already, of the group "${group.name}"`] : [];
    }),
    left: describeRules(deleted.filter((rule) => !removed.has(rule))),
  };
}

/** A rule as it was read, in the words of a file. */
export function asWanted(
  accepted: AcceptedRule,
): WantedRule & Marks & { readonly accepted: AcceptedRule } {
  const { action, source_ip: source, named_port } = accepted;
  const protocol = accepted.protocol as RuleProtocol;
  const namedPort = named_port === null ? null : parsePortName(named_port);
  const port = namedPort === null ? accepted.destination_port : null;
  return { action, protocol, source, port, namedPort, ...parsedMarks(accepted), accepted };
}

/** Sends rules in the fewest requests that the limit on the ports of one allows. */
function sentAdded(rules: readonly WantedRule[], maxPorts: number): AddressReplacement['rules'] {
  return joinPorts(rules).flatMap(([first, ports]) => {
    if (ports.length < 2) return [sentWanted(first)];
    const parts = Array.from({ length: Math.ceil(ports.length / maxPorts) }, (_, index) =>
      ports.slice(index * maxPorts, (index + 1) * maxPorts),
    );
    return parts.map((part) => ({ ...sentWanted(first), destination_port: portExpression(part) }));
  });
}

function sentWanted(rule: WantedRule): AddressReplacement['rules'][number] {
  const { action, protocol, source, port, namedPort } = rule;
  return {
    action,
    protocol,
    source_ip: source,
    ...(namedPort ? { named_port: namedPort.shown ?? null } : { destination_port: port }),
    ...writtenMarks(rule),
  };
}

function mergeFilters(
  wanted: readonly WantedFilter[] | undefined,
  data: AcceptedAddress['data'],
  prune: boolean,
): Merged<AddressReplacement['filters'][number]> {
  const own = ownObjects(data).filters;
  const grouped = data.filters.filter((one) => !isOwn(one) && one.status !== 'going');
  const byGroup = new Map(grouped.map((one) => [nameOf(one), one.managed_by_group]));
  const { created, deleted, kept } = difference<TypedPort, TypedPort & Settings, AcceptedFilter>(
    own,
    wanted ?? own.map(({ type, port }) => ({ type, port })),
    nameOf,
  );
  const added = created.filter((one) => !byGroup.has(nameOf(one)));
  const removed = new Set(prune ? deleted : []);
  const settings = new Map(kept.map((pair) => [pair.stored, pair.wanted.settings]));
  const isSet = ({ stored, wanted: one }: (typeof kept)[number]): boolean =>
    hasSettings(stored, one.settings);
  return {
    isChanged: added.length + removed.size > 0 || !kept.every(isSet),
    sent: [
      ...own
        .filter((one) => !removed.has(one))
        .map((one) => ({ ...sentFilter(one), settings: settings.get(one) ?? one.settings })),
      ...added,
    ] as AddressReplacement['filters'],
    grouped: created.flatMap((one) => {
      const group = byGroup.get(nameOf(one));
      const name = `${one.type} ${one.port}`;
      return group ? [`filter ${name} is there already, of the group "${group.name}"`] : [];
    }),
    left: prune
      ? []
      : joinFilterPorts(deleted.map(({ type, port }) => ({ type, port }))).map((one) =>
          one.join(' '),
        ),
  };
}

type TypedPort = Pick<WantedFilter, 'type' | 'port'>;
type Settings = Pick<WantedFilter, 'settings'>;

function nameOf({ type, port }: TypedPort): string {
  return filterKey({ type, port });
}

function hasSettings({ settings }: AcceptedFilter, wanted: WantedFilter['settings']): boolean {
  if (wanted === undefined) return true;
  return Object.entries(settings).every(([name, value]) => (wanted[name] ?? null) === value);
}
