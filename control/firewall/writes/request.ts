import {
  checkFiltersPerIp,
  checkPortsPerRequest,
  checkRulesPerIp,
} from '@portcullis/core/firewall/limits.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import {
  availableFilters,
  type FilterType,
  findFilter,
} from '@portcullis/core/filters/catalogue.ts';
import { type FilterSettings, parseSettings } from '@portcullis/core/filters/settings.ts';
import { viewOf } from '../../http/operations/view.ts';
import { readEntry } from '@portcullis/core/firewall/rules/entry.ts';
import type { MarkField, Marks, MarksEntry } from '@portcullis/core/firewall/rules/marks.ts';
import type { RuleField } from '@portcullis/core/firewall/rules/parse.ts';
import {
  countPorts,
  expandPorts,
  parsePortExpression,
  type PortRange,
} from '@portcullis/core/net/ports.ts';
import type { Tx } from '../../db/database.ts';
import {
  lockNamedServers,
  type PortMention,
  type ResolvedPort,
  resolvePorts,
} from '../named-ports/index.ts';
import {
  familyOf,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleIdentity,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import type { OwnManagedFilter } from '../store.ts';
import * as messages from './messages.ts';

/** Checks a request against the organisation's limits; each throws `limit_exceeded` with core's sentence. */

function requirePortCount(call: AddressCall, ports: number): void {
  refuse(checkPortsPerRequest(call.by.organisation.limits, ports));
}

export function requireRuleCount(call: AddressCall, there: number, more: number): void {
  refuse(checkRulesPerIp(call.by.organisation.limits, there, more));
}

export function requireFilterCount(call: AddressCall, there: number, more: number): void {
  refuse(checkFiltersPerIp(call.by.organisation.limits, there, more));
}

function refuse(sentence: string | null): void {
  if (sentence !== null) throw new Problem('limit_exceeded', sentence);
}

/** The body of a rule creation, checked for types alone. */
export interface RuleRequest {
  readonly action: string;
  readonly protocol: string;
  readonly destination_port?: string | null;
  readonly source_ip?: string | null;
}

/** With a port by its name, in place of a port expression, and with marks; only of x1. */
export interface NamingRuleRequest extends RuleRequest, Pick<MarksEntry, 'ref' | 'expires_at'> {
  readonly named_port?: string | null;
  /** The member of the body that had the name of the port; absent: `named_port`. */
  readonly namedBy?: 'destination_port';
}

/** The body of a filter creation, checked for types alone. */
export interface FilterRequest {
  readonly type: string;
  readonly port: string;
}

/** Settings that x1 sets on a filter; null or absent: as the filter has it. */
export interface SettingsRequest {
  readonly source_pps?: number | null;
  readonly new_per_second?: number | null;
  readonly min_length?: number | null;
  readonly max_length?: number | null;
  readonly source_ports?: string | null;
}

/** Null or absent settings: those of the equal filter that is there. */
export interface SetFilterRequest extends FilterRequest {
  readonly settings?: SettingsRequest | null;
}

type Port = number | null;

interface ReadRule {
  readonly rule: Omit<RuleContent, 'port'>;
  readonly ports: readonly Port[];
  readonly marks: Partial<Marks>;
}

/** Parses the request to a rule and its ports (`[null]` is any port), counted before expansion; throws 422. */
export function readRule(
  call: AddressCall,
  request: NamingRuleRequest,
  pointer = '',
  namedPort: ResolvedPort | null = null,
): ReadRule {
  const port = namedPort === null ? (request.destination_port ?? null) : String(namedPort.port);
  const entry = { ...request, destination_port: port, namedPort };
  const read = readEntry(entry, { family: familyOf(call.params.ip), now: new Date() });
  if (!read.ok) throw invalidRule(pointer, read);
  const { rule, ports, marks, hasExpired } = read.value;
  if (hasExpired) throw invalidRule(pointer, { field: 'expires_at', reason: 'is over already' });
  return { rule, ports: readPorts(call, ports), marks };
}

const MARK_NOUNS = { ref: 'A ref', expires_at: 'expires_at', note: 'A note' } as const;

function invalidRule(
  pointer: string,
  { field, reason }: { readonly field: RuleField | MarkField; readonly reason: string },
): Problem {
  const noun = Object.entries(MARK_NOUNS).find(([name]) => name === field)?.[1];
  const detail = noun === undefined ? `The rule is not valid: ${reason}.` : `${noun} ${reason}.`;
  const errors = [{ pointer: `${pointer}/${field}`, detail: reason }];
  return new Problem('invalid_request', detail, { errors });
}

function readPorts(call: AddressCall, ranges: readonly PortRange[]): number[];
function readPorts(call: AddressCall, ranges: readonly PortRange[] | null): Port[];
function readPorts(call: AddressCall, ranges: readonly PortRange[] | null): Port[] {
  if (ranges === null) return [null];
  requirePortCount(call, countPorts(ranges));
  return expandPorts(ranges);
}

/** For a write, before its address is locked: keeps the servers whose ports the rules name. */
export function lockNamedIn(
  tx: Tx,
  call: AddressCall,
  requests: readonly NamingRuleRequest[],
): Promise<void> {
  const names = requests.flatMap(({ named_port: name }) => name ?? []);
  return lockNamedServers(tx, call, names);
}

/** The present numbers of the ports that rules name. */
export function resolveOf(
  tx: Tx,
  call: AddressCall,
  requests: readonly NamingRuleRequest[],
): Promise<ReadonlyMap<string, ResolvedPort>> {
  const mentions = requests.flatMap(
    ({ named_port: text, namedBy = 'named_port' }, index): PortMention[] =>
      text === null || text === undefined ? [] : [{ text, pointer: `/rules/${index}/${namedBy}` }],
  );
  return resolvePorts(tx, call, mentions);
}

/** Expands the rules of the request by port. Checks the count as it grows, before expanding all ranges. */
export function readRules(
  call: AddressCall,
  requests: readonly NamingRuleRequest[],
  named: ReadonlyMap<string, ResolvedPort>,
): WantedRule[] {
  const rules: WantedRule[] = [];
  const seen = new Set<string>();
  for (const [index, request] of requests.entries()) {
    const pointer = `/rules/${index}`;
    const namedPort = named.get(request.named_port ?? '') ?? null;
    const { rule, ports, marks } = readRule(call, request, pointer, namedPort);
    requireRuleCount(call, 0, rules.length + ports.length);
    if (marks.ref) once(marks.ref, (ref) => `ref ${ref}`, seen, `${pointer}/ref`);
    for (const port of ports) {
      rules.push({ ...once({ ...rule, port, namedPort }, ruleIdentity, seen, pointer), ...marks });
    }
  }
  return rules;
}

export function readFilters(
  call: AddressCall,
  requests: readonly SetFilterRequest[],
  there: readonly FilterContent[],
): FilterContent[] {
  const filters: FilterContent[] = [];
  const seen = new Set<string>();
  const present = new Map(there.map((filter) => [filterKey(filter), filter.settings ?? {}]));
  for (const [index, { type, port: text, settings: sent }] of requests.entries()) {
    const pointer = `/filters/${index}`;
    const ports = readFilterPorts(call, text, `${pointer}/port`);
    requireFilterCount(call, 0, filters.length + ports.length);
    const set = sent ? readSettings(type, sent, `${pointer}/settings`) : null;
    for (const port of ports) {
      const settings = set ?? present.get(filterKey({ type, port })) ?? {};
      filters.push(once({ type, port, settings }, filterKey, seen, pointer));
    }
  }
  return filters;
}

/** Throws 422 for what the filter cannot have. Of a type that there is not nothing is read: it is refused as such. */
export function readSettings(type: string, sent: SettingsRequest, pointer: string): FilterSettings {
  const filter = findFilter(type);
  if (filter === null) return {};
  const settings = parseSettings(filter, {
    sourcePps: sent.source_pps,
    newPerSecond: sent.new_per_second,
    minLength: sent.min_length,
    maxLength: sent.max_length,
    sourcePorts: sent.source_ports,
  });
  if (settings.ok) return settings.value;
  const field = Object.keys(viewOf({ [settings.field]: null }))[0] ?? '';
  throw new Problem('invalid_request', `The settings are not valid: ${settings.reason}.`, {
    errors: [{ pointer: `${pointer}/${field}`, detail: settings.reason }],
  });
}

function once<T>(object: T, name: (object: T) => string, seen: Set<string>, pointer: string): T {
  const text = name(object);
  if (seen.has(text)) {
    throw new Problem(
      'invalid_request',
      'The request names the same rule or filter twice; leave one of them out.',
      {
        errors: [{ pointer, detail: 'is named earlier in the request' }],
      },
    );
  }
  seen.add(text);
  return object;
}

export function readFilterPorts(call: AddressCall, text: string, pointer = '/port'): number[] {
  const parsed = parsePortExpression(text);
  if (parsed.ok) return readPorts(call, parsed.value);
  throw new Problem('invalid_request', `The port expression is not valid: ${parsed.reason}.`, {
    errors: [{ pointer, detail: parsed.reason }],
  });
}

/** Throws the same 422 for an unknown type and for one that the service manages. */
export function requireAvailable(type: string, managed: readonly OwnManagedFilter[]): FilterType {
  const found = availableFilters(managedTypes(managed)).find((filter) => filter.type === type);
  if (found !== undefined) return found.type;
  throw new Problem('filter_unavailable', messages.filterUnavailable(managed));
}

/** Leaves out types that only a later version knows. */
export function managedTypes(managed: readonly OwnManagedFilter[]): FilterType[] {
  return managed.flatMap(({ type }) => findFilter(type)?.type ?? []);
}
