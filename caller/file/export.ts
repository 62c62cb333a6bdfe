import {
  type Document,
  isMap,
  isSeq,
  type Node,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { AcceptedAddress, AcceptedFilter } from '@portcullis/client/generated/operations.ts';
import { ruleIdentity, type WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import { joinPorts } from '@portcullis/core/firewall/rules/describe.ts';
import { changedMarks, type Marks, writtenMarks } from '@portcullis/core/firewall/rules/marks.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { ownObjects } from '../address.ts';
import { portExpression } from '@portcullis/core/net/ports.ts';
import { alsoDrops } from './also-drops.ts';
import { Mistakes, Place } from './places.ts';
import { type AddressState, asWanted } from './plan.ts';
import { readFilter, readRule, type WantedFilter } from './rules-file.ts';

const NEW_FILE = `# Rules of these addresses: "portcullis firewall plan -f FILE" compares, "apply" makes them so.
addresses: {}
`;

/**
 * A file with these addresses as they are accepted. Of a file that is there, comments, order and items that still hold
 * are kept, and so are its addresses that are not named here.
 */
export function exportFile(
  existing: string | null,
  states: ReadonlyMap<string, AddressState>,
): string {
  const document = parseDocument(existing ?? NEW_FILE);
  if (!isMap(document.get('addresses', true))) document.set('addresses', document.createNode({}));
  const addresses = document.get('addresses', true) as YAMLMap<Node, Node | null>;
  // An empty mapping is written as {}.
  addresses.flow = false;
  for (const [ip, state] of states) exportAddress(document, addresses, ip, state);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

function exportAddress(
  document: Document,
  addresses: YAMLMap<Node, Node | null>,
  ip: string,
  { accepted: { data, meta }, blocked }: AddressState,
): void {
  const family = parseAddress(ip);
  if (!family.ok) throw new Error(`control named an address ${ip}`);
  const written = addresses.items.find(({ key }) => isSame(String(key), ip));
  const target = isMap(written?.value) ? written.value : (document.createNode({}) as YAMLMap);
  if (written === undefined) addresses.set(document.createNode(ip), target);
  else written.value = target;
  target.flow = false;
  if (data.default === 'deny' || target.has('default')) target.set('default', data.default);
  const { rules, filters } = ownObjects(data);
  syncRules(document, target, rules.map(asWanted), family.value.family);
  syncFilters(document, target, filters);
  syncBlocked(document, target, blocked);
  noteOthers(target, ip, meta.also_drops);
}

const OTHERS = ' Not of this file, and set elsewhere: ';

/** Comments on what else drops packets to the address: a file has the blocked sources of the address alone. */
function noteOthers(
  target: YAMLMap,
  ip: string,
  { blocked_sources: lists, ...others }: AcceptedAddress['meta']['also_drops'],
): void {
  const elsewhere = lists.filter((list) => list.target !== ip);
  const lines = alsoDrops({ blocked_sources: elsewhere, ...others }).map((line) => OTHERS + line);
  const written = (target.comment ?? '').split('\n').filter(Boolean);
  const kept = written.filter((line) => !line.startsWith(OTHERS));
  const comment = [...kept, ...lines].join('\n');
  target.comment = comment === '' ? null : comment;
}

function isSame(written: string, ip: string): boolean {
  const [a, b] = [parseAddress(written), parseAddress(ip)];
  return a.ok && b.ok && a.value.value === b.value.value && a.value.family === b.value.family;
}

/** The list of this name; a new one if `isNeeded`. */
function listOf(
  document: Document,
  target: YAMLMap,
  name: string,
  isNeeded: boolean,
): YAMLSeq | null {
  const found = target.get(name, true);
  if (isSeq(found)) return found;
  if (!isNeeded) return null;
  const list = document.createNode([]) as YAMLSeq;
  target.set(name, list);
  return list;
}

function placeOf(item: unknown): Place {
  return new Place(item as Node, 0, new Mistakes());
}

function append(document: Document, list: YAMLSeq, value: object | string): void {
  list.flow = false;
  list.add(document.createNode(value, { flow: true }));
}

function syncRules(
  document: Document,
  target: YAMLMap,
  rules: readonly StoredRule[],
  family: 4 | 6,
): void {
  const list = listOf(document, target, 'rules', rules.length > 0);
  if (list === null) return;
  const missing = new Map(rules.map((rule) => [ruleIdentity(rule), rule]));
  list.items = list.items.filter((item) => {
    const written = readRule(placeOf(item), family);
    const holds = written.length > 0 && written.every((rule) => isThere(rule, missing));
    if (holds) for (const rule of written) missing.delete(ruleIdentity(rule));
    return holds;
  });
  for (const [rule, ports] of joinPorts([...missing.values()])) {
    const { action, protocol, source, namedPort } = rule;
    const marks = Object.entries(writtenMarks(rule)).filter(([, value]) => value !== null);
    const port = namedPort?.shown ?? (ports.length === 0 ? null : portExpression(ports));
    append(document, list, {
      action,
      protocol,
      ...(port !== null && { destination_port: port }),
      ...(source !== null && { source_ip: source }),
      ...Object.fromEntries(marks),
    });
  }
}

type StoredRule = WantedRule & Marks;

function isThere(written: WantedRule, rules: ReadonlyMap<string, StoredRule>): boolean {
  const stored = rules.get(ruleIdentity(written));
  return stored !== undefined && changedMarks([{ stored, wanted: written }], []).length === 0;
}

function syncFilters(
  document: Document,
  target: YAMLMap,
  filters: readonly AcceptedFilter[],
): void {
  const list = listOf(document, target, 'filters', filters.length > 0);
  if (list === null) return;
  const name = ({ type, port }: { readonly type: string; readonly port: number }): string =>
    `${type} ${port}`;
  const missing = new Map(filters.map((one) => [name(one), one]));
  const holds = (written: WantedFilter): boolean => {
    const there = missing.get(name(written));
    const asked = written.settings;
    if (there === undefined || asked === undefined) return there !== undefined && !hasAny(there);
    return Object.entries(there.settings).every(([key, value]) => (asked[key] ?? null) === value);
  };
  list.items = list.items.filter((item) => {
    const written = readFilter(placeOf(item));
    const isKept = written.length > 0 && written.every(holds);
    if (isKept) for (const one of written) missing.delete(name(one));
    return isKept;
  });
  const groups = Map.groupBy(missing.values(), ({ type, settings }) =>
    JSON.stringify([type, settings]),
  );
  for (const group of groups.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const settings = Object.fromEntries(
      Object.entries(first.settings).filter(([, value]) => value !== null),
    );
    append(document, list, {
      type: first.type,
      port: portExpression(group.map(({ port }) => port)),
      ...(hasAny(first) && { settings }),
    });
  }
}

function hasAny({ settings }: AcceptedFilter): boolean {
  return Object.values(settings).some((value) => value !== null);
}

function syncBlocked(document: Document, target: YAMLMap, blocked: readonly string[]): void {
  const list = listOf(document, target, 'blocked', blocked.length > 0);
  if (list === null) return;
  const missing = new Set(blocked);
  list.items = list.items.filter((item) => missing.delete(placeOf(item).text('') ?? ''));
  for (const source of missing) append(document, list, source);
}
