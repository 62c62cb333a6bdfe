import { MAX_BLOCKED } from '@portcullis/contract/operations/x1-blocked.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { parseCidr, wholeFamily } from '@portcullis/core/net/cidr.ts';
import { countPorts, expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import { parseCountry } from '@portcullis/core/net/countries.ts';
import {
  filterKey,
  type NamedPort,
  ruleIdentity,
  type WantedFilter,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import { describeRules } from '@portcullis/core/firewall/rules/describe.ts';
import { expandEntry, isPortName, readEntry } from '@portcullis/core/firewall/rules/entry.ts';
import { readMarks, wholeMarks } from '@portcullis/core/firewall/rules/marks.ts';
import { sentence } from '../../operator/index.ts';
import type { DesiredBlocked, DesiredGeoRule, DesiredGroup, DesiredTarget } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { NamedPorts } from './named-ports.ts';
import type { Scope } from './scope.ts';
import type { FilterEntry, OrganisationText, RuleEntry } from '../schema/schema.ts';

export interface LocatedRule {
  readonly at: Position;
  readonly rule: WantedRule;
}

export interface RuleTerms {
  /** Null for a group, which has none. */
  readonly family: Family | null;
  readonly maxPorts: number;
  /** The ports that the rules may name; null: none. */
  readonly named: NamedPorts | null;
  /** Called for an entry whose time is over, which is left out. */
  readonly onExpired?: (rule: string) => void;
}

/** Parses rules and expands them to one per port. */
export function parseRules(
  entries: readonly RuleEntry[],
  { family, maxPorts, named, onExpired }: RuleTerms,
  scope: Scope,
): LocatedRule[] {
  const found: LocatedRule[] = [];
  const seen = new Set<string>();
  const now = new Date();
  for (const [index, entry] of entries.entries()) {
    const itemScope = scope.in(index);
    const port = parsePort(entry, named, itemScope);
    if (port === null) continue;
    const read = readEntry(
      { ...entry, ...wholeMarks(entry), destination_port: port.text, namedPort: port.namedPort },
      { family, maxPorts, now },
    );
    if (!read.ok) {
      itemScope.in(read.field).refuse(sentence(read.reason));
      continue;
    }
    const rules = expandEntry(read.value);
    if (read.value.hasExpired) {
      for (const name of describeRules(rules)) onExpired?.(name);
      continue;
    }
    const [ref] = rules.flatMap((rule) => rule.ref ?? []);
    if (ref !== undefined && found.some(({ rule }) => rule.ref === ref)) {
      itemScope.in('ref').refuse(`The ref ${ref} is here twice.`);
    }
    for (const rule of rules) {
      if (seen.has(ruleIdentity(rule))) {
        itemScope.refuse('This repeats a rule that stands above it, or a part of one.');
        break;
      }
      seen.add(ruleIdentity(rule));
      found.push({ at: itemScope.at, rule });
    }
  }
  return found;
}

/** The port expression of a rule, and the name behind it. Null: refused. */
function parsePort(
  { destination_port: port }: RuleEntry,
  named: NamedPorts | null,
  scope: Scope,
): { readonly text: string | null; readonly namedPort: NamedPort | null } | null {
  const text = port === undefined ? null : String(port);
  if (text === null || !isPortName(text)) return { text, namedPort: null };
  const found = named?.find(text) ?? { ok: false, reason: 'only rules of groups name ports' };
  if (found.ok) {
    const { server, port: one } = found;
    return { text: String(one.port), namedPort: { server, name: one.name } };
  }
  scope.in('destination_port').refuse(sentence(found.reason));
  return null;
}

export function parseGroups(
  entries: NonNullable<OrganisationText['groups']>,
  terms: Omit<RuleTerms, 'family'>,
  scope: Scope,
): DesiredGroup[] {
  const { maxPorts } = terms;
  scope.unique(entries, ({ name }) => name, 'name', 'The group');
  return entries.map((group, index) => {
    const itemScope = scope.in(index);
    const expired: string[] = [];
    const onExpired = (name: string): void => void expired.push(name);
    const rules = parseRules(
      group.rules ?? [],
      { ...terms, family: null, onExpired },
      itemScope.in('rules'),
    );
    return {
      at: itemScope.at,
      name: group.name,
      rules: rules.map(({ rule }) => rule),
      filters: parseFilters(group.filters ?? [], { maxPorts, onExpired }, itemScope.in('filters')),
      expired,
      targets: parseTargets(group.addresses ?? [], itemScope.in('addresses')),
    };
  });
}

function parseFilters(
  entries: readonly FilterEntry[],
  { maxPorts, onExpired }: Pick<RuleTerms, 'maxPorts' | 'onExpired'>,
  scope: Scope,
): WantedFilter[] {
  const found = new Map<string, WantedFilter>();
  const now = new Date();
  for (const [index, entry] of entries.entries()) {
    const itemScope = scope.in(index);
    checkFilterType(entry.type, itemScope.in('type'));
    const ports = parsePortExpression(String(entry.port));
    if (!ports.ok) {
      itemScope.in('port').refuse(sentence(ports.reason));
      continue;
    }
    const count = countPorts(ports.value);
    if (count > maxPorts) {
      itemScope.in('port').refuse(`At most ${maxPorts} ports are allowed in one filter.`);
      continue;
    }
    const read = readMarks(wholeMarks(entry), count, now);
    if (!read.ok) {
      itemScope.in(read.field).refuse(sentence(read.reason));
      continue;
    }
    const { marks, hasExpired } = read.value;
    if (hasExpired) {
      onExpired?.(`the filter ${entry.type} ${entry.port}`);
      continue;
    }
    if (marks.ref && [...found.values()].some(({ ref }) => ref === marks.ref)) {
      itemScope.in('ref').refuse(`The ref ${marks.ref} is here twice.`);
    }
    for (const port of expandPorts(ports.value)) {
      const filter = { type: entry.type, port, ...marks };
      if (found.has(filterKey(filter)))
        itemScope.refuse(`The filter ${filterKey(filter)} is here twice.`);
      found.set(filterKey(filter), filter);
    }
  }
  return [...found.values()];
}

export function checkFilterType(type: string, scope: Scope): void {
  if (FILTERS.some((filter) => filter.type === type)) return;
  const known = FILTERS.map((filter) => filter.type).join(', ');
  scope.refuse(`There is no filter "${type}"; there are ${known}.`);
}

function parseTargets(entries: readonly string[], scope: Scope): DesiredTarget[] {
  const found = new Map<string, DesiredTarget>();
  for (const [index, text] of entries.entries()) {
    const itemScope = scope.in(index);
    const target = itemScope.cidr(text);
    if (target === null) continue;
    if (found.has(target)) itemScope.refuse(`${text} is here twice.`);
    found.set(target, { at: itemScope.at, target });
  }
  return [...found.values()];
}

export function parseGeoRules(
  entries: NonNullable<OrganisationText['geo_rules']>,
  scope: Scope,
): DesiredGeoRule[] {
  const seen = new Set<string>();
  return entries.map((entry, index) => {
    const itemScope = scope.in(index);
    const countries = [...(entry.countries ?? [])];
    const asns = [...(entry.asns ?? [])];
    for (const [at, country] of countries.entries()) {
      const parsed = parseCountry(country);
      if (!parsed.ok) itemScope.in('countries', at).refuse(sentence(parsed.reason));
    }
    itemScope.in('countries').unique(countries, String, '', 'The country');
    itemScope.in('asns').unique(asns, String, '', 'The ASN');
    if (countries.length + asns.length === 0)
      itemScope.refuse('A geo rule names countries or ASNs.');
    if (countries.length + asns.length > 1000) {
      itemScope.refuse('A geo rule names at most 1000 countries and ASNs.');
    }
    const content = {
      action: entry.action,
      countries: countries.toSorted(),
      asns: asns.toSorted((a, b) => a - b),
    };
    const key = JSON.stringify(content);
    if (seen.has(key))
      itemScope.refuse('This is the same geo rule as one above: join their addresses.');
    seen.add(key);
    return {
      at: itemScope.at,
      content,
      targets: parseTargets(entry.addresses, itemScope.in('addresses')),
    };
  });
}

/** One entry for each target. */
export function parseBlocked(
  entries: NonNullable<OrganisationText['blocked_sources']>,
  scope: Scope,
): DesiredBlocked[] {
  const seen = new Set<string>();
  const parsed = entries.flatMap((entry, index): DesiredBlocked[] => {
    const itemScope = scope.in(index);
    const targets = entry.addresses && parseTargets(entry.addresses, itemScope.in('addresses'));
    const sources = parseTargets(entry.sources, itemScope.in('sources'));
    for (const { at, target: source } of sources) {
      const cidr = parseCidr(source);
      if (cidr.ok && wholeFamily(cidr.value)) {
        scope.refuseAt(at, `${source} is every address: set default: deny instead.`);
      }
    }
    return (targets ?? [{ at: itemScope.at, target: null }]).map(({ at, target }) => {
      for (const { at: place, target: source } of sources) {
        const key = `${target} ${source}`;
        if (seen.has(key)) scope.refuseAt(place, `${source} is blocked there twice.`);
        seen.add(key);
      }
      const names = sources.map(({ target: source }) => source);
      return { at, target, sources: names, note: entry.note ?? '' };
    });
  });
  if (seen.size > MAX_BLOCKED) {
    const message = `These are ${seen.size} blocked sources, and an organisation may have ${MAX_BLOCKED}: block the networks around them.`;
    scope.refuse(message);
  }
  return parsed;
}
