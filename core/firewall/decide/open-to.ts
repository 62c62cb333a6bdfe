import { BITS, formatAddress } from '../../net/address.ts';
import { lastValue, parseCidr } from '../../net/cidr.ts';
import { ruleMatches } from '../match.ts';
import type { Packet } from '../packet.ts';
import type { Mitigation, Policy, PolicyRule, SourceSets } from '../policy.ts';
import { createPolicyTable } from '../policy-table.ts';
import { decide, type EdgeView, type Verdict } from './decide.ts';
import { FIRST_PACKET } from './first-packet.ts';

/** Sources to which a port is open: `most` is more than half of all addresses of the family, `some` is fewer. */
export type Openness = 'everyone' | 'most' | 'some' | 'nobody';

/** A verdict that sources get, with one of them. */
export interface SourceOutcome {
  readonly verdict: Verdict;
  /** The first address that gets it. */
  readonly source: string;
  /** Objects of the stage that decide alike for other sources. */
  readonly others: number;
}

/** To whom a port is open, and by what. */
export interface OpenTo {
  readonly to: Openness;
  /** One an action and stage, that of most sources first. */
  readonly outcomes: readonly SourceOutcome[];
}

/**
 * Decides to whom a port is open, and by what: `decide` of a first packet from every source. Sources that the same parts
 * of the policy name get the same verdict, so one of each kind is evaluated. The one place that answers this question.
 */
export function openTo(
  edge: Pick<EdgeView, 'settings' | 'sourceSets'>,
  policy: Policy,
  packet: Omit<Packet, 'source'>,
): OpenTo {
  const any: Packet = { ...packet, source: packet.destination };
  const near = nearPolicy(policy, any);
  const view = { ...edge, policies: createPolicyTable([near]) };
  const found = new Map<string, SourceOutcome & { readonly size: bigint }>();
  for (const { first, size } of kindsOfSources(near, edge.sourceSets, packet.family)) {
    const source = formatAddress({ family: packet.family, value: first });
    const verdict = decide(view, { ...packet, source }, FIRST_PACKET);
    const key = `${verdict.action} ${verdict.stage}`;
    const known = found.get(key);
    found.set(key, {
      verdict: known?.verdict ?? verdict,
      source: known?.source ?? source,
      others: Math.max(0, countDeciding(near, verdict) - 1),
      size: size + (known?.size ?? 0n),
    });
  }
  const sorted = [...found.values()].toSorted((a, b) => (a.size < b.size ? 1 : -1));
  const sizeOf = (action: Verdict['action']): bigint =>
    sorted
      .filter(({ verdict }) => verdict.action === action)
      .reduce((sum, { size }) => sum + size, 0n);
  return {
    to: openness(sizeOf('pass'), sizeOf('drop')),
    outcomes: sorted.map(({ verdict, source, others }) => ({ verdict, source, others })),
  };
}

function openness(passes: bigint, drops: bigint): Openness {
  if (drops === 0n) return 'everyone';
  if (passes === 0n) return 'nobody';
  return passes > drops ? 'most' : 'some';
}

/** The policy without the rules and mitigations that match no packet like this one, whatever its source. */
function nearPolicy(policy: Policy, packet: Packet): Policy {
  const isNear = (rule: PolicyRule): boolean => ruleMatches({ ...rule, source: null }, packet);
  return {
    ...policy,
    baseline: policy.baseline.filter(isNear),
    rules: policy.rules.filter(isNear),
    mitigations: policy.mitigations.filter(({ ref, protocol, destinationPort: port }) =>
      isNear({ ref, action: 'deny', protocol, port, source: null }),
    ),
  };
}

/** Objects that decide in the stage of a verdict with its action. */
function countDeciding(policy: Policy, { stage, action }: Verdict): number {
  const of = (rules: readonly PolicyRule[]): PolicyRule[] =>
    rules.filter((rule) => (rule.action === 'allow') === (action === 'pass'));
  const counts: Partial<Record<Verdict['stage'], () => number>> = {
    baseline: () => of(policy.baseline).length,
    'blocked-sources': () => policy.blocked.length,
    'named-allows': () => of(policy.rules).filter(({ source }) => source !== null).length,
    geo: () => policy.geo.length,
    rules: () =>
      of(policy.rules).filter(({ source }) => action === 'drop' || source === null).length,
  };
  return counts[stage]?.() ?? 0;
}

/** Networks that a policy treats alike: rules of a list with the same action are one kind. */
function namedNetworks(policy: Policy, { sets }: SourceSets): [name: string, cidr: string][] {
  const ofRules = (name: string, rules: readonly PolicyRule[]): [string, string][] =>
    rules.flatMap(({ action, source }) => (source === null ? [] : [[`${name} ${action}`, source]]));
  const ofMitigation = ({ ref, source, safelist }: Mitigation): [string, string][] => [
    ...(source === null ? [] : [[ref, source] as [string, string]]),
    ...safelist.map((safe): [string, string] => [`${ref} safe`, safe]),
  ];
  const names = new Set([...policy.blocked, ...policy.geo.flatMap((rule) => rule.sets)]);
  return [
    ...ofRules('baseline', policy.baseline),
    ...ofRules('rules', policy.rules),
    ...policy.mitigations.flatMap(ofMitigation),
    ...[...names].flatMap((name) =>
      (Object.hasOwn(sets, name) ? (sets[name] ?? []) : []).map((one): [string, string] => [
        name,
        one,
      ]),
    ),
  ];
}

interface SourceKind {
  readonly first: bigint;
  /** Addresses. */
  readonly size: bigint;
}

/** Cuts the addresses of a family where a named network begins or ends; one entry for each set of names. */
function kindsOfSources(policy: Policy, sets: SourceSets, family: 4 | 6): SourceKind[] {
  const events: { at: bigint; name: string; step: 1 | -1 }[] = [];
  for (const [name, text] of namedNetworks(policy, sets)) {
    const cidr = parseCidr(text);
    if (!cidr.ok || cidr.value.family !== family) continue;
    events.push({ at: cidr.value.value, name, step: 1 });
    events.push({ at: lastValue(cidr.value) + 1n, name, step: -1 });
  }
  events.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const kinds = new Map<string, SourceKind>();
  const open = new Map<string, number>();
  let from = 0n;
  const close = (until: bigint): void => {
    if (until === from) return;
    const key = [...open.keys()].toSorted().join('\n');
    const known = kinds.get(key);
    kinds.set(key, { first: known?.first ?? from, size: until - from + (known?.size ?? 0n) });
    from = until;
  };
  for (const { at, name, step } of events) {
    close(at);
    const count = (open.get(name) ?? 0) + step;
    if (count === 0) open.delete(name);
    else open.set(name, count);
  }
  close(1n << BigInt(BITS[family]));
  return [...kinds.values()];
}
