import type { EarlyRule, EarlyTarget, Form, Reason } from './early-target.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import {
  type MatchRule,
  networkFrom,
  orderedRules,
  overlapping,
  setsReason,
} from '../../compile/match.ts';
import { intoLevels, prune } from '../../compile/program.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { BITS } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { addressBytes, keyMask, LAYOUT, maskBytes, packetKey } from '../maps/layout.ts';
import { greetedPortsOf } from './greetings.ts';
import { statelessDropsOf } from './stateless-drops.ts';

/** Throws `PolicyError` if the policy is invalid. */
export function compileEarly(policy: Policy): EarlyTarget {
  const cidr = networkFrom(policy.target);
  const ordered = orderedRules(policy, cidr.family);
  const ofBaseline = new Set(ordered.slice(0, policy.baseline.length));
  const reasonOf = (rule: MatchRule): Reason => {
    if (rule.source?.kind === 'sets') return setsReason(rule.source);
    return ofBaseline.has(rule) ? 'baseline' : 'rules';
  };
  const end = ordered.find((rule) => rule.protocol === null && rule.source === null);
  const fallback = end?.outcome === 'drop' ? reasonOf(end) : null;
  const { target } = policy;
  const common = {
    target,
    cidr,
    statelessDrops: statelessDropsOf(policy, cidr.family),
    greetedPorts: greetedPortsOf(policy, cidr),
    isExact: false,
  };
  const isExact = hasRulesOnly(policy, cidr);
  const { kept } = prune(ordered);
  if (kept.length <= LAYOUT.LARGE_RULES) {
    const { order, portless } = portsLast(kept);
    const rules = order.map((index) => earlyRule(kept[index] as MatchRule, reasonOf));
    const listed = { kind: 'listed', rules, portless, fallback } as const;
    return { ...common, rules: listed, spilled: [], unions: unionsOf(kept), isExact };
  }
  // Source sets cannot be hash look-ups, so nftables evaluates them.
  const byPacket = prune(ordered.filter((rule) => rule.source?.kind !== 'sets')).kept;
  const early = byPacket.map((rule) => earlyRule(rule, reasonOf));
  const spilled = spill(byPacket, early, fallback);
  const isWhole = spilled !== TOO_COMPLEX && kept.every(({ source }) => source?.kind !== 'sets');
  return { ...common, ...spilled, unions: new Map(), isExact: isExact && isWhole };
}

/**
 * Whether nothing but rules applies to UDP. Not for prefixes: an address in them may have a policy that only nftables
 * has.
 */
function hasRulesOnly({ mitigations, filters }: Policy, cidr: Cidr): boolean {
  if (cidr.length !== BITS[cidr.family] || mitigations.length > 0) return false;
  return filters.every(({ type }) => FILTERS.find((one) => one.type === type)?.udp === null);
}

/** Everything passes to nftables. */
const TOO_COMPLEX = {
  rules: { kind: 'listed', rules: [], portless: 0, fallback: null },
  spilled: [],
} as const;

/** Whether the rules need more kinds of look-ups than the programs support. */
export function isTooComplex(target: EarlyTarget | undefined): boolean {
  return target?.rules === TOO_COMPLEX.rules;
}

/** The reasons that packets may be dropped for. */
export function reasonsOf({
  rules,
  spilled,
  statelessDrops,
  greetedPorts,
}: EarlyTarget): Set<Reason> {
  const reasons = new Set<Reason>();
  if (statelessDrops.length > 0) reasons.add('mitigations');
  if (greetedPorts.length > 0) reasons.add('greetings');
  if (rules.fallback !== null) reasons.add(rules.fallback);
  const listed = rules.kind === 'listed' ? rules.rules : spilled;
  for (const { verdict } of listed) if (verdict !== 'pass') reasons.add(verdict);
  return reasons;
}

function earlyRule(rule: MatchRule, reason: (rule: MatchRule) => Reason): EarlyRule {
  const { outcome, protocol, port, source } = rule;
  const verdict = outcome === 'accept' ? 'pass' : reason(rule);
  const network = source?.kind === 'network' ? source.cidr : null;
  const sets = source?.kind === 'sets' ? source : null;
  return {
    verdict,
    protocol,
    port,
    source: network,
    sets: sets === null ? null : { name: unionName(sets.names), inside: sets.inside },
  };
}

function unionsOf(rules: readonly MatchRule[]): Map<string, readonly string[]> {
  const unions = new Map<string, readonly string[]>();
  for (const { source } of rules) {
    if (source?.kind === 'sets') unions.set(unionName(source.names), source.names);
  }
  return unions;
}

function unionName(names: readonly string[]): string {
  return names.join();
}

/** Orders rules with a port last if that changes no verdict. Returns indices. */
function portsLast(rules: readonly MatchRule[]): { order: number[]; portless: number } {
  const all = rules.map((_, index) => index);
  const ported = all.filter((index) => rules[index]?.port !== null);
  const others = all.filter((index) => rules[index]?.port === null);
  const swapped = ported.some((port) =>
    others.some((other) => other > port && disagree(rules[other], rules[port])),
  );
  if (swapped) return { order: all, portless: all.length };
  return { order: [...others, ...ported], portless: others.length };
}

function disagree(a: MatchRule | undefined, b: MatchRule | undefined): boolean {
  return a !== undefined && b !== undefined && a.outcome !== b.outcome && overlapping(a, b);
}

/** Makes look-ups of a long list, level by level. program.ts explains why levels keep the order of the list. */
function spill(
  kept: readonly MatchRule[],
  early: readonly EarlyRule[],
  fallback: Reason | null,
): Pick<EarlyTarget, 'rules' | 'spilled'> {
  const levels = intoLevels(kept).map(({ level }) => level);
  const names = new Map<string, { level: number; form: Form }>();
  const nameOf = (index: number): string => {
    const { protocol, port, source } = early[index] as EarlyRule;
    const mask = keyMask(protocol, port);
    const sourceMask = source === null ? null : maskBytes(source.family, source.length);
    const level = levels[index] ?? 0;
    const name = `${level} ${mask} ${source?.length}`;
    names.set(name, { level, form: { mask, sourceMask } });
    return name;
  };
  const ofRule = early.map((_, index) => nameOf(index));
  const ordered = [...names].toSorted(([, a], [, b]) => a.level - b.level);
  if (ordered.length > LAYOUT.MAX_FORMS) return TOO_COMPLEX;
  const place = new Map(ordered.map(([name], index) => [name, index]));
  const spilled = early.map(({ verdict, protocol, port, source }, index) => ({
    form: place.get(ofRule[index] ?? '') ?? 0,
    match: protocol === null ? 0 : packetKey(protocol, port),
    source: source === null ? null : addressBytes(source),
    verdict,
  }));
  const forms = ordered.map(([, { form }]) => form);
  return { rules: { kind: 'spilled', forms, fallback }, spilled };
}
