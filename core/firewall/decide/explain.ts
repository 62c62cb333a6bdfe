import type { Verdict } from './decide.ts';
import type { OpenTo, SourceOutcome } from './open-to.ts';
import { describeMitigation } from '../../attacks/mitigation/actions.ts';
import { BLOCKED_SET, MITIGATION_REF, type Policy } from '../policy.ts';
import { describeRule } from '../rules/describe.ts';

/** Stages that decide without a rule of the policy. */
const WITHOUT_RULE: Readonly<Partial<Record<Verdict['stage'], string>>> = {
  management:
    'The packet passes: it is for a management port of the edge host itself, which nobody can lock.',
  'needed-icmp': 'The packet passes: it is ICMP that networks need, within its rate.',
  'fragment-limits': 'The packet is dropped: fragments to this address exceed their limit.',
  'return-traffic': 'The packet passes: it answers a connection that the protected host opened.',
};

const DEFAULT: Readonly<Record<Verdict['action'], string>> = {
  pass: 'The packet passes: no rule matches it, and the default of this address is accept.',
  drop: 'The packet is dropped: no rule matches it, and the default of this address is deny.',
};

/** The verdict as a sentence to act on. `policy` is the evaluated one, null if none covers the address. */
export function explainVerdict(verdict: Verdict, policy: Policy | null): string {
  const observed = verdict.observed.map(
    (ref) =>
      ` ${describe({ ref, stage: 'mitigations' }, policy)} only observes; enforced, it would have dropped the packet.`,
  );
  return [decision(verdict, policy), ...observed].join('');
}

function decision(verdict: Verdict, policy: Policy | null): string {
  if (verdict.stage === 'default' && policy === null)
    return 'The packet passes: no policy covers this address.';
  if (verdict.stage === 'default') return DEFAULT[verdict.action];
  const does = verdict.action === 'pass' ? 'passes' : 'is dropped';
  return WITHOUT_RULE[verdict.stage] ?? `The packet ${does}: ${describe(verdict, policy)} decides.`;
}

function describe({ ref, stage }: Pick<Verdict, 'ref' | 'stage'>, policy: Policy | null): string {
  const mitigation = policy?.mitigations.find((candidate) => candidate.ref === ref);
  if (mitigation !== undefined) {
    return `${named(mitigation.ref)} (against an attack: ${describeMitigation(mitigation)})`;
  }
  const rules = [...(policy?.baseline ?? []), ...(policy?.rules ?? [])];
  const rule = rules.find((candidate) => candidate.ref === ref);
  if (rule !== undefined) return `${named(rule.ref)} (${describeRule(rule)})`;
  const geo = policy?.geo.find((candidate) => candidate.ref === ref);
  if (geo !== undefined) {
    return `${named(geo.ref)} (${geo.action === 'deny' ? 'deny' : 'only'} ${geo.sets.join(', ')})`;
  }
  const filter = policy?.filters.find((candidate) => candidate.ref === ref);
  if (filter !== undefined) {
    const why = filter.ref.startsWith(MITIGATION_REF)
      ? `, ${named(filter.ref)} against an attack`
      : '';
    return `the filter ${filter.type} on port ${filter.port}${why}`;
  }
  if (ref?.startsWith(BLOCKED_SET)) return `the list of blocked sources of ${blockedOn(ref)}`;
  return ref === null ? `the stage ${stage}` : named(ref);
}

/** To whom a port is open, and by what, as a sentence. `policy` is the evaluated one. */
export function explainOpenTo({ to, outcomes }: OpenTo, policy: Policy | null): string {
  const by = (action: Verdict['action']): string =>
    outcomes
      .filter(({ verdict }) => verdict.action === action)
      .map((outcome) => deciderOf(outcome, policy))
      .join('; ');
  const sentences = {
    everyone: () => `Open to everyone: ${by('pass')}.`,
    most: () => `Open to most sources: ${by('pass')}. Closed to others: ${by('drop')}.`,
    some: () => `Open to some sources only: ${by('pass')}. Closed to others: ${by('drop')}.`,
    nobody: () => `Closed to everyone: ${by('drop')}.`,
  };
  return sentences[to]();
}

/** Names what decides, in a list: `rule 4 (allow tcp 80 from 192.0.2.0/24) and 2 more`. */
function deciderOf({ verdict, others }: SourceOutcome, policy: Policy | null): string {
  const { stage, action, ref } = verdict;
  if (stage === 'default' || ref === null)
    return `no rule matches, and the default of this address is ${action === 'pass' ? 'accept' : 'deny'}`;
  return `${describe(verdict, policy)}${others === 0 ? '' : ` and ${others} more`}`;
}

/** The target of a list, by its name: `blocked:ORGANISATION.HOLDING.TARGET`, with the target as letters of a name. */
function blockedOn(set: string): string {
  const target = /\.\d+\.(.*)-\d+$/.exec(set)?.[1];
  return target === undefined ? 'the organisation' : target.replaceAll('_', ':');
}

const KINDS: Readonly<Record<string, string>> = {
  rule: 'rule',
  'group-rule': 'group rule',
  'server-port': 'the open port of a running game server, number',
  'geo-rule': 'geo rule',
  baseline: "the operator's baseline rule",
};

/** `group-rule:7` as `group rule 7`. */
function named(ref: string): string {
  const [kind = '', id = ''] = ref.split(':');
  return `${KINDS[kind] ?? kind} ${id}`;
}
