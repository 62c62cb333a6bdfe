import type { GroupObject } from '@portcullis/contract/schemas/declared/group.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import {
  filterKey,
  ruleIdentity,
  type WantedFilter,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import { describeRules } from '@portcullis/core/firewall/rules/describe.ts';
import {
  type EntryTerms,
  expandEntry,
  isPortName,
  parsePortName,
  readEntry,
} from '@portcullis/core/firewall/rules/entry.ts';
import { type Marks, readMarks } from '@portcullis/core/firewall/rules/marks.ts';
import {
  countPorts,
  expandPorts,
  parsePortExpression,
  portExpression,
} from '@portcullis/core/net/ports.ts';
import { momentText } from '../moments.ts';
import { NAMED_PORT, sentence } from '../forms.ts';
import type { Refuse } from '../kind.ts';

type RuleEntry = GroupObject['rules'][number];
type FilterEntry = GroupObject['filters'][number];
type BareRule = Pick<RuleEntry, 'action' | 'protocol' | 'destination_port' | 'source_ip'> &
  Partial<RuleEntry>;

/** Rules or filters one a port, and those whose time is over in words. */
export interface Expanded<Content> {
  readonly found: readonly Content[];
  readonly expired: readonly string[];
}

const IGNORE: Refuse = () => {};

/** Reads rules one a port; refuses what is wrong at its pointer in the list. */
export function readRules(
  entries: readonly BareRule[],
  refuse: Refuse = IGNORE,
  terms: Partial<Pick<EntryTerms, 'family' | 'maxPorts'>> & { readonly names?: boolean } = {},
): Expanded<WantedRule> {
  const { names = true, ...limits } = terms;
  const found: WantedRule[] = [];
  const expired: string[] = [];
  const [seen, refs, now] = [new Set<string>(), new Set<string>(), new Date()];
  for (const [index, { destination_port: written, ...entry }] of entries.entries()) {
    const at = `/${index}`;
    const port = written === null ? null : String(written);
    const isNamed = port !== null && isPortName(port);
    if (isNamed && !(names && NAMED_PORT.test(port))) {
      refuse(`${at}/destination_port`, names ? UUID_FIRST : 'Only rules of groups name ports.');
      continue;
    }
    const read = readEntry(
      {
        ...entry,
        destination_port: isNamed ? null : port,
        namedPort: isNamed ? parsePortName(port) : null,
      },
      { family: null, ...limits, now },
    );
    if (!read.ok) {
      refuse(`${at}/${read.field}`, sentence(read.reason));
      continue;
    }
    const rules = expandEntry(read.value);
    if (read.value.hasExpired) {
      expired.push(...describeRules(rules));
      continue;
    }
    const ref = rules[0]?.ref ?? null;
    if (ref !== null && refs.has(ref)) refuse(`${at}/ref`, `The ref ${ref} is here twice.`);
    if (ref !== null) refs.add(ref);
    let isRepeated = false;
    for (const rule of rules) {
      const identity = ruleIdentity(rule);
      if (seen.has(identity)) isRepeated = true;
      else found.push(rule);
      seen.add(identity);
    }
    if (isRepeated) refuse(at, 'This repeats a rule that stands above it, or a part of one.');
  }
  return { found, expired };
}

const UUID_FIRST = 'Name a port of a game server by its uuid: UUID:query.';

/** Reads filters one a port. */
export function readFilters(
  entries: readonly FilterEntry[],
  refuse: Refuse = IGNORE,
  maxPorts = Infinity,
): Expanded<WantedFilter> {
  const found = new Map<string, WantedFilter>();
  const expired: string[] = [];
  const [refs, now] = [new Set<string>(), new Date()];
  for (const [index, entry] of entries.entries()) {
    const at = `/${index}`;
    if (!FILTERS.some((filter) => filter.type === entry.type)) {
      const known = FILTERS.map((filter) => filter.type).join(', ');
      refuse(`${at}/type`, `There is no filter "${entry.type}"; there are ${known}.`);
    }
    const ports = parsePortExpression(String(entry.port));
    if (!ports.ok) {
      refuse(`${at}/port`, sentence(ports.reason));
      continue;
    }
    const count = countPorts(ports.value);
    if (count > maxPorts) {
      refuse(`${at}/port`, `At most ${maxPorts} ports are allowed in one filter.`);
      continue;
    }
    const read = readMarks(entry, count, now);
    if (!read.ok) {
      refuse(`${at}/${read.field}`, sentence(read.reason));
      continue;
    }
    const { marks, hasExpired } = read.value;
    if (hasExpired) {
      expired.push(`the filter ${entry.type} ${entry.port}`);
      continue;
    }
    const ref = marks.ref ?? null;
    if (ref !== null && refs.has(ref)) refuse(`${at}/ref`, `The ref ${ref} is here twice.`);
    if (ref !== null) refs.add(ref);
    for (const port of expandPorts(ports.value)) {
      const filter = { type: entry.type, port, ...marks };
      const key = filterKey(filter);
      if (found.has(key)) refuse(at, `The filter ${key} is here twice.`);
      found.set(key, filter);
    }
  }
  return { found: [...found.values()], expired };
}

/** A rule as the file and the API write it. */
export function ruleEntry({
  action,
  protocol,
  source,
  port,
  namedPort,
  ...rule
}: WantedRule): RuleEntry {
  const named = namedPort ? `${namedPort.server}:${namedPort.name}` : null;
  const number = port === null ? null : String(port);
  return {
    action,
    protocol,
    destination_port: named ?? number,
    source_ip: source,
    ...markFields(rule),
  };
}

export function filterEntry({ type, port, ...filter }: WantedFilter): FilterEntry {
  return { type, port: String(port), ...markFields(filter) };
}

function markFields({ ref = null, expiresAt = null, note = null }: Partial<Marks>) {
  return { ref, expires_at: expiresAt && momentText(expiresAt), note };
}

type EntryFields = Readonly<Record<string, unknown>>;

/**
 * Entries of one port each, as a file has them: those that differ only in their port are one, of `most` ports. One with a `ref`,
 * or with the name of a port, stands alone.
 */
export function joinEntries(
  entries: unknown,
  portField: 'destination_port' | 'port',
  most: number,
): EntryFields[] {
  const list = entries as readonly EntryFields[];
  const isSingle = ({ ref, [portField]: port }: EntryFields) =>
    ref !== undefined || !/^\d+$/.test(String(port));
  const alike = Map.groupBy(list.entries(), ([index, entry]) =>
    JSON.stringify(isSingle(entry) ? index : { ...entry, [portField]: null }),
  );
  const joined = [...alike.values()].flatMap((some) => {
    const [[, first] = [0, {}]] = some;
    if (isSingle(first)) return [first];
    const ports = some.map(([, entry]) => Number(entry[portField])).toSorted((a, b) => a - b);
    return Array.from({ length: Math.ceil(ports.length / most) }, (_, at) => ({
      ...first,
      [portField]: portExpression(ports.slice(at * most, (at + 1) * most)),
    }));
  });
  return plainPorts(joined, portField);
}

/** Entries in which one port is a number, as people write it. */
export function plainPorts(
  entries: unknown,
  portField: 'destination_port' | 'port' = 'destination_port',
): EntryFields[] {
  return (entries as readonly EntryFields[]).map((entry) => {
    const port = entry[portField];
    const isNumber = typeof port === 'string' && /^[1-9]\d*$/.test(port);
    return isNumber ? { ...entry, [portField]: Number(port) } : entry;
  });
}
