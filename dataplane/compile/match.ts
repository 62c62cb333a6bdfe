import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import {
  BLOCKED_SET,
  type Policy,
  type PolicyRule,
  type RuleOf,
  type SourceSets,
} from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { type Cidr, containsCidr, overlaps, parseCidr } from '@portcullis/core/net/cidr.ts';

export type Outcome = 'accept' | 'drop';

/** The source that a rule matches: a network, or being inside or outside of named source sets. */
export type SourceMatch =
  | { readonly kind: 'network'; readonly cidr: Cidr }
  | { readonly kind: 'sets'; readonly names: readonly string[]; readonly inside: boolean };

/** One line of an ordered first-match list. Null matches everything; a port requires a protocol. */
export interface MatchRule {
  readonly outcome: Outcome;
  readonly protocol: number | null;
  readonly port: number | null;
  readonly source: SourceMatch | null;
}

const DENY_ALL: MatchRule = { outcome: 'drop', protocol: null, port: null, source: null };

/** An invalid policy. The target keeps its last good one. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
}

/**
 * Stages 6 to 11 as one list in which the first match decides:
 * baseline allow, baseline deny, blocked sources, allow with a source, geo deny, geo only, allow without a source, deny, default deny.
 * A packet that matches nothing is accepted.
 */
export function orderedRules(policy: Policy, family: Family): MatchRule[] {
  const of = (rules: readonly PolicyRule[], action: PolicyRule['action']): MatchRule[] =>
    rules.filter((rule) => rule.action === action).map((rule) => matchRule(rule, family));
  const allows = of(policy.rules, 'allow');
  return [
    ...of(policy.baseline, 'allow'),
    ...of(policy.baseline, 'deny'),
    ...blockedSources(policy),
    ...allows.filter((rule) => rule.source !== null),
    ...geoRules(policy, 'deny'),
    ...geoRules(policy, 'only'),
    ...allows.filter((rule) => rule.source === null),
    ...of(policy.rules, 'deny'),
    ...(policy.default === 'deny' ? [DENY_ALL] : []),
  ];
}

/**
 * Whether both rules could match one packet. Source sets may overlap anything, because their contents are not
 * compared.
 */
export function overlapping(a: MatchRule, b: MatchRule): boolean {
  if (a.protocol !== null && b.protocol !== null && a.protocol !== b.protocol) return false;
  if (a.port !== null && b.port !== null && a.port !== b.port) return false;
  if (a.source?.kind !== 'network' || b.source?.kind !== 'network') return true;
  return overlaps(a.source.cidr, b.source.cidr);
}

/** Whether `outer` matches every packet that `inner` matches. */
export function covers(outer: MatchRule, inner: MatchRule): boolean {
  if (outer.protocol !== null && outer.protocol !== inner.protocol) return false;
  if (outer.port !== null && outer.port !== inner.port) return false;
  return coversSource(outer.source, inner.source);
}

export function unconditional(rule: MatchRule): boolean {
  return rule.protocol === null && rule.source === null;
}

/** The networks of one family in the named sets. A set without data is empty. */
export function networksOf(sets: SourceSets, names: readonly string[], family: Family): Cidr[] {
  return names
    .flatMap((name) => (Object.hasOwn(sets.sets, name) ? (sets.sets[name] ?? []) : []))
    .map((text) => networkFrom(text))
    .filter((cidr) => cidr.family === family);
}

export function networkFrom(text: string): Cidr {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw new PolicyError(`not a network: ${cidr.reason}`);
  return cidr.value;
}

function coversSource(outer: SourceMatch | null, inner: SourceMatch | null): boolean {
  if (outer === null) return true;
  if (inner === null || outer.kind !== inner.kind) return false;
  if (outer.kind === 'network') {
    return inner.kind === 'network' && containsCidr(outer.cidr, inner.cidr);
  }
  return (
    inner.kind === 'sets' &&
    outer.inside === inner.inside &&
    outer.names.join() === inner.names.join()
  );
}

function matchRule(
  rule: RuleOf<'ref' | 'action' | 'protocol' | 'port' | 'source'>,
  family: Family,
): MatchRule {
  const protocol = rule.protocol === 'any' ? null : protocolNumber(rule.protocol, family);
  if (rule.port !== null && rule.protocol !== 'tcp' && rule.protocol !== 'udp') {
    throw new PolicyError(`${rule.ref} names a port of a protocol without ports`);
  }
  if (rule.port !== null && !(rule.port >= 0 && rule.port <= 65_535)) {
    throw new PolicyError(`${rule.ref} names a port that there is not`);
  }
  const outcome = rule.action === 'allow' ? 'accept' : 'drop';
  return { outcome, protocol, port: rule.port, source: sourceOf(rule, family) };
}

function sourceOf(rule: PolicyRule, family: Family): SourceMatch | null {
  if (rule.source === null) return null;
  const cidr = networkFrom(rule.source);
  if (cidr.family !== family) {
    throw new PolicyError(`${rule.ref} names a source of the other family`);
  }
  return cidr.length === 0 ? null : { kind: 'network', cidr };
}

/** Names appear in comments of the nft text. */
const SET_NAME = /^[A-Za-z0-9:._-]{1,80}$/;

/** All lists share one look-up. */
function blockedSources({ blocked }: Policy): MatchRule[] {
  if (blocked.length === 0) return [];
  if (!blocked.every((name) => name.startsWith(BLOCKED_SET) && SET_NAME.test(name)))
    throw new PolicyError('what it blocks is no list of sources');
  return [inSets(blocked, true)];
}

function inSets(names: readonly string[], inside: boolean): MatchRule {
  const source = { kind: 'sets', names, inside } as const;
  return { outcome: 'drop', protocol: null, port: null, source };
}

/** The reason for which a rule on source sets drops. */
export function setsReason({ names }: { readonly names: readonly string[] }): 'blocked' | 'geo' {
  return names.every((name) => name.startsWith(BLOCKED_SET)) ? 'blocked' : 'geo';
}

/** All denies share one look-up, each `only` has its own. */
function geoRules(policy: Policy, action: 'deny' | 'only'): MatchRule[] {
  const rules = policy.geo.filter((rule) => rule.action === action);
  for (const name of rules.flatMap((rule) => rule.sets)) {
    if (!SET_NAME.test(name)) throw new PolicyError('a geo rule names what is no source set');
  }
  const unions =
    action === 'deny' ? [rules.flatMap((rule) => rule.sets)] : rules.map((rule) => rule.sets);
  return unions
    .filter((_, index) => rules.length > index)
    .map((union) => inSets([...new Set(union)].toSorted(), action === 'deny'));
}

export function isSingle(cidr: Cidr): boolean {
  return cidr.length === BITS[cidr.family];
}
