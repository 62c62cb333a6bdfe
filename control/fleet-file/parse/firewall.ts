import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { countPorts, expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import { parseCountry } from '../../firewall/geo/index.ts';
import {
  expandRule,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleKey,
} from '../../firewall/groups/index.ts';
import type { DesiredGeoRule, DesiredGroup, DesiredTarget } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { Scope } from './scope.ts';
import type { OrganisationText, RuleEntry } from '../schema/schema.ts';

export interface LocatedRule {
  readonly at: Position;
  readonly rule: RuleContent;
}

/** Parses rules and expands them to one per port. `family` is null for a group, which has none. */
export function parseRules(
  entries: readonly RuleEntry[],
  family: Family | null,
  maxPorts: number,
  scope: Scope,
): LocatedRule[] {
  const found: LocatedRule[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const itemScope = scope.in(index);
    const text = {
      action: entry.action,
      protocol: entry.protocol,
      destinationPort: entry.destination_port === undefined ? null : `${entry.destination_port}`,
      source: entry.source_ip ?? null,
    };
    const expanded = expandRule(text, family, maxPorts);
    if (!expanded.ok) {
      itemScope.in(expanded.field).refuse(sentence(expanded.reason));
      continue;
    }
    for (const rule of expanded.value) {
      if (seen.has(ruleKey(rule))) {
        itemScope.refuse('This repeats a rule that stands above it, or a part of one.');
        break;
      }
      seen.add(ruleKey(rule));
      found.push({ at: itemScope.at, rule });
    }
  }
  return found;
}

export function parseGroups(
  entries: NonNullable<OrganisationText['groups']>,
  maxPorts: number,
  scope: Scope,
): DesiredGroup[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The group');
  return entries.map((group, index) => {
    const itemScope = scope.in(index);
    return {
      at: itemScope.at,
      name: group.name,
      rules: parseRules(group.rules ?? [], null, maxPorts, itemScope.in('rules')).map(
        (p) => p.rule,
      ),
      filters: parseFilters(group.filters ?? [], maxPorts, itemScope.in('filters')),
      targets: parseTargets(group.addresses ?? [], itemScope.in('addresses')),
    };
  });
}

function parseFilters(
  entries: readonly { readonly type: string; readonly port: string | number }[],
  maxPorts: number,
  scope: Scope,
): FilterContent[] {
  const found = new Map<string, FilterContent>();
  for (const [index, entry] of entries.entries()) {
    const itemScope = scope.in(index);
    checkFilterType(entry.type, itemScope.in('type'));
    const ports = parsePortExpression(String(entry.port));
    if (!ports.ok) {
      itemScope.in('port').refuse(sentence(ports.reason));
      continue;
    }
    if (countPorts(ports.value) > maxPorts) {
      itemScope.in('port').refuse(`At most ${maxPorts} ports are allowed in one filter.`);
      continue;
    }
    for (const port of expandPorts(ports.value)) {
      const filter = { type: entry.type, port };
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

/** Makes a parser's reason a sentence. */
export function sentence(reason: string): string {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
