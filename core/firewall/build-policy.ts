import type { FilterType } from '../filters/catalogue.ts';
import type { FilterSettings } from '../filters/settings.ts';
import type { Family } from '../net/address.ts';
import { type Cidr, formatNetwork, parseCidr, wholeFamily } from '../net/cidr.ts';
import { type MitigationAction, renderAction } from '../attacks/mitigation/actions.ts';
import {
  type DefaultAction,
  type Mitigation,
  MITIGATION_REF,
  type Policy,
  type PolicyFilter,
  type PolicyGeoRule,
  type PolicyRule,
  type RuleAction,
  type RuleProtocol,
} from './policy.ts';

/** A stored rule. Ids are unique within a kind. */
export interface SourceRule {
  readonly id: number;
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  readonly port: number | null;
  readonly source: string | null;
}
export interface SourceGeoRule {
  readonly id: number;
  readonly action: 'deny' | 'only';
  /** ISO 3166 alpha-2. */
  readonly countries: readonly string[];
  readonly asns: readonly number[];
}
export interface SourceFilter {
  readonly id: number;
  readonly type: FilterType;
  readonly port: number;
  readonly settings?: FilterSettings;
}

/** Mitigations of an attack on the target or on a containing prefix. */
export interface SourceMitigation {
  readonly id: number;
  readonly action: MitigationAction;
  readonly mode: Mitigation['mode'];
  readonly safelist: readonly string[];
}

/** All inputs of a target's policy. */
export interface PolicySource {
  readonly target: string;
  readonly baseline: readonly SourceRule[];
  /** Names of the source sets with blocked sources of the target, its containing prefixes and its organisation. */
  readonly blocked: readonly string[];
  readonly rules: readonly SourceRule[];
  readonly groupRules: readonly SourceRule[];
  /** Ports of game servers that run and are open meanwhile. */
  readonly serverPorts: readonly SourceRule[];
  readonly geo: readonly SourceGeoRule[];
  readonly default: DefaultAction;
  readonly filters: readonly SourceFilter[];
  readonly groupFilters: readonly SourceFilter[];
  readonly managedFilters: readonly { readonly type: FilterType; readonly port: number }[];
  readonly mitigations: readonly SourceMitigation[];
}

/**
 * Builds the canonical policy of a target. Rules with a source of the other family do not apply and are omitted (a
 * group serves addresses of both). Throws if the target is no network, which the database excludes.
 */
export function buildPolicy(source: PolicySource): Policy {
  const target = networkOf(source.target);
  const split = mitigationsOf(source.mitigations);
  return {
    target: formatNetwork(target),
    mitigations: split.mitigations,
    baseline: rulesOf('baseline', source.baseline, target.family),
    blocked: [...new Set(source.blocked)].toSorted(),
    geo: source.geo
      .map(geoRuleOf)
      .toSorted((a, b) => order(a.action, b.action) || order(idOf(a), idOf(b))),
    rules: sortRules([
      ...rulesOf('rule', source.rules, target.family),
      ...rulesOf('group-rule', source.groupRules, target.family),
      ...rulesOf('server-port', source.serverPorts, target.family),
    ]),
    default: source.default,
    filters: [
      ...source.filters.map((filter) => filterOf(`filter:${filter.id}`, filter, false)),
      ...source.groupFilters.map((filter) => filterOf(`group-filter:${filter.id}`, filter, false)),
      ...source.managedFilters.map((filter) =>
        filterOf(`managed-filter:${filter.type}:${filter.port}`, filter, true),
      ),
      ...split.filters,
    ].toSorted((a, b) => order(a.port, b.port) || order(a.type, b.type) || order(a.ref, b.ref)),
  };
}

function mitigationsOf(
  sources: readonly SourceMitigation[],
): Pick<Policy, 'mitigations' | 'filters'> {
  const rendered = sources
    .toSorted((a, b) => order(a.id, b.id))
    .map(({ id, action, mode, safelist }) =>
      renderAction(action, { ref: `${MITIGATION_REF}${id}`, mode, safelist }),
    );
  return {
    mitigations: rendered.flatMap((one) => (one.part === 'mitigation' ? [one.value] : [])),
    filters: rendered.flatMap((one) => (one.part === 'filter' ? [one.value] : [])),
  };
}

/** A policy without effect. */
export function isEmptyPolicy(policy: Policy): boolean {
  const { mitigations, baseline, blocked, geo, rules, filters } = policy;
  const stages = [mitigations, baseline, blocked, geo, rules, filters];
  return policy.default === 'accept' && stages.every((stage) => stage.length === 0);
}

function rulesOf(kind: string, rules: readonly SourceRule[], family: Family): PolicyRule[] {
  const found: PolicyRule[] = [];
  for (const { id, action, protocol, port, source } of rules) {
    const network = source === null ? null : networkOf(source);
    if (network !== null && network.family !== family) continue;
    const any = network === null || wholeFamily(network);
    found.push({
      ref: `${kind}:${id}`,
      action,
      protocol,
      port,
      source: any ? null : formatNetwork(network),
    });
  }
  return sortRules(found);
}

/** Allow before deny, then by id, as the address view lists them. */
function sortRules(rules: readonly PolicyRule[]): PolicyRule[] {
  return rules.toSorted((a, b) => order(a.action, b.action) || order(idOf(a), idOf(b)));
}

function geoRuleOf({ id, action, countries, asns }: SourceGeoRule): PolicyGeoRule {
  const sets = [...countries.map((code) => `country:${code}`), ...asns.map((asn) => `asn:${asn}`)];
  return { ref: `geo-rule:${id}`, action, sets: [...new Set(sets)].toSorted() };
}

function filterOf(
  ref: string,
  { type, port, settings = {} }: Omit<SourceFilter, 'id'>,
  managed: boolean,
): PolicyFilter {
  const set = Object.keys(settings).length > 0 && { settings };
  return { ref, type, port, managed, safelist: [], ...set };
}

function idOf({ ref }: { readonly ref: string }): number {
  return Number(ref.slice(ref.lastIndexOf(':') + 1));
}

function order<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function networkOf(text: string): Cidr {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new Error(`a policy cannot be built with ${text}: ${cidr.reason}`);
  return cidr.value;
}
