import {
  type IcmpBudget,
  NEEDED_ICMP,
  type NeededIcmp,
} from '@portcullis/core/firewall/needed-icmp.ts';
import { STAGES, type StageName } from '@portcullis/core/firewall/stages.ts';
import { countingChains } from '../filters/state.ts';
import type { RenderedChain } from '../chain.ts';
import type { EdgeRules } from './edge-rules.ts';
import { deniedFlowChains, REPLIES } from './denied-flows.ts';
import { declareDropCounters, dropChains, ruleDrop } from './drop-counters.ts';
import {
  BEFORE_REASSEMBLY,
  declareFragmentState,
  fragmentChains,
  gotoFragmentLimits,
  reassembledChains,
} from './fragment-limits.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { dispatchMap, dispatchStatement, IP } from '../names.ts';
import { PolicyError } from '../../compile/match.ts';

/** After the conntrack lookup (-200), before Docker's DNAT (-100). */
const AFTER_CONNTRACK = -150;
/** After reassembly (-400), before conntrack: dropped packets create no connection. */
const BEFORE_CONNTRACK = -290;
const EVALUATE_IP6 = 'meta nfproto ipv6 goto judge6';

/** The chains that do not depend on policies. Throws `PolicyError` on an invalid device name. */
export function renderBaseChains(rules: EdgeRules): RenderedChain[] {
  const evaluationChains = ([4, 6] as const).map((family) => ({
    name: `judge${family}`,
    statements: STAGES.flatMap(({ name }) => [...renderStage[name](rules, family)]),
  }));
  return [
    { name: 'needed_icmp', statements: NEEDED_ICMP.map(neededIcmp) },
    ...evaluationChains,
    ...(rules.sees === 'both' ? chainsAfterConntrack(rules) : chainsWithoutConntrack(rules)),
    {
      name: 'filters',
      statements: [dispatchStatement('filter', 4), dispatchStatement('filter', 6), 'accept'],
    },
    ...countingChains(),
    ...dropChains(),
    ...(rules.sees === 'both' ? deniedFlowChains(skipInbound(rules)) : []),
    ...fragmentChains(rules),
    ...reassemblyChains(rules),
  ];
}

/** The hook priority in prerouting at which evaluation is complete. */
export function evaluationPriority({ sees }: EdgeRules): number {
  return sees === 'both' ? AFTER_CONNTRACK : BEFORE_CONNTRACK;
}

/** The statements that evaluate packets from our devices. */
export function evaluationStatements({ devices }: EdgeRules): string[] {
  return devices.length === 0 ? [] : [skipOtherDevices(devices), EVALUATE_IP6, 'goto judge4'];
}

function chainsAfterConntrack(rules: EdgeRules): RenderedChain[] {
  const { devices } = rules;
  const parts = ([4, 6] as const).map((family) => gotoFragmentLimits(family, deviceMatch(devices)));
  return [
    {
      name: 'prerouting',
      statements: [hookAt(evaluationPriority(rules)), ...evaluationStatements(rules)],
    },
    ...(devices.length === 0
      ? []
      : [{ name: 'fragments', statements: [hookAt(BEFORE_REASSEMBLY), ...parts] }]),
  ];
}

/**
 * Chains without conntrack, one hook sorts out fragments and evaluates whole packets. Reassembled packets are
 * evaluated in a hook after reassembly, which skips all others.
 */
function chainsWithoutConntrack(rules: EdgeRules): RenderedChain[] {
  const { devices } = rules;
  const first = hookAt(BEFORE_REASSEMBLY);
  if (devices.length === 0) return [{ name: 'prerouting', statements: [first] }];
  return [
    { name: 'whole6', statements: [gotoFragmentLimits(6), 'goto judge6'] },
    {
      name: 'prerouting',
      statements: [
        first,
        skipOtherDevices(devices),
        'meta nfproto ipv6 goto whole6',
        gotoFragmentLimits(4),
        'goto judge4',
      ],
    },
    ...reassembledChains(hookAt(evaluationPriority(rules)), [EVALUATE_IP6, 'goto judge4']),
  ];
}

function hookAt(priority: number): string {
  return `type filter hook prerouting priority ${priority}; policy accept;`;
}

/** Exhaustive over the stages of core, so that a new stage cannot be forgotten. */
const renderStage: Readonly<
  Record<StageName, (rules: EdgeRules, family: Family) => readonly string[]>
> = {
  management: (rules) =>
    (['tcp', 'udp'] as const).flatMap((protocol) => passManagement(rules, protocol)),
  // A packet above the rate does not match; the following rules apply to it.
  'needed-icmp': (_, family) => [
    `meta l4proto ${family === 4 ? 'icmp' : 'icmpv6'} jump needed_icmp`,
  ],
  // A separate hook, before reassembly: fragment-limits.ts.
  'fragment-limits': () => [],
  default: () => [],
  'return-traffic': ({ sees }) => (sees === 'both' ? [`ct direction reply jump ${REPLIES}`] : []),
  // In the chain of the target, before its rules (mitigations.ts).
  mitigations: () => [],
  // One lookup for five stages: the program of a target has them in order (match.ts). The address lookup determines
  // the further lookups (compile.ts).
  baseline: (_, family) => [
    dispatchStatement('address', family),
    // A write may have removed the verdict between both lookups. Such a packet must not take an open address.
    `${IP[family]} daddr @${dispatchMap('address', family)} ${ruleDrop('denied')}`,
    dispatchStatement('prefix', family),
  ],
  'blocked-sources': () => [],
  'named-allows': () => [],
  geo: () => [],
  rules: () => [],
  // Packets accepted by a program with filters go to the chain of that name.
  filters: () => [],
};

/** Accepts management traffic of the host in this hook. Empty if the protocol is not used for management. */
export function passManagement(
  { management }: Pick<EdgeRules, 'management'>,
  protocol: 'tcp' | 'udp',
): string[] {
  const ports = management.filter((one) => one.protocol === protocol).map(({ port }) => port);
  if (ports.length === 0) return [];
  // The port is matched first, because the route lookup costs more.
  return [`${protocol} dport ${anonymous(ports)} fib daddr type local accept`];
}

/** Compares one value; looks up several in a set. */
function anonymous(values: readonly (number | string)[]): string {
  const unique = [...new Set(values)].toSorted(byNumber);
  return unique.length === 1 ? String(unique[0]) : `{ ${unique.join(', ')} }`;
}

function byNumber(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : a < b ? -1 : 1;
}

/** Enables reassembly: the kernel reassembles in a namespace only while a rule in it reads `ct`. */
function reassemblyChains({ fragments }: EdgeRules): RenderedChain[] {
  if (fragments === 'limit') return [];
  return [{ name: 'reassembly_is_wanted', statements: ['ct state untracked'] }];
}

function neededIcmp({ family, type, code, budget, hopLimit }: NeededIcmp): string {
  const icmp = family === 4 ? 'icmp' : 'icmpv6';
  const matches = [
    `${icmp} type ${type}`,
    ...(code === null ? [] : [`${icmp} code ${code}`]),
    ...(hopLimit === null
      ? []
      : [family === 4 ? `ip ttl ${hopLimit}` : `ip6 hoplimit ${hopLimit}`]),
  ];
  return `${matches.join(' ')} limit name "${limitName(budget)}" accept`;
}

/** The objects of the base chains: a limit for each budget, and the fragment state. */
export function renderLimits(rules: EdgeRules): string[] {
  const { icmpRates } = rules;
  const budgets = (Object.keys(icmpRates) as IcmpBudget[])
    .toSorted()
    .flatMap((budget) => [
      `limit ${limitName(budget)} {`,
      `\trate ${icmpRates[budget]}/second burst ${icmpRates[budget]} packets`,
      '}',
      '',
    ]);
  return [...budgets, ...declareDropCounters(), ...declareFragmentState(rules)];
}

function limitName(budget: IcmpBudget): string {
  return `icmp_${budget}`;
}

/**
 * Matches devices by name, because a device may be removed and added. Returns null without devices: then no packet is
 * evaluated.
 */
export function deviceMatch(devices: readonly string[]): string | null {
  return devices.length === 0 ? null : `iifname ${namesOf(devices)}`;
}

/** Accepts packets from other devices. That costs them one rule, and saves our packets one. */
export function skipOtherDevices(devices: readonly string[]): string {
  return `iifname != ${namesOf(devices)} accept`;
}

/**
 * Accepts what entered by our devices and leaves by others: no protected host sends it. Kernels before 5.7 do not know
 * there by what device a packet entered, and then it does not match.
 */
function skipInbound({ devices }: EdgeRules): string[] {
  if (devices.length === 0) return [];
  return [`iifname ${namesOf(devices)} oifname != ${namesOf(devices)} accept`];
}

function namesOf(devices: readonly string[]): string {
  for (const device of devices) {
    if (!/^[A-Za-z0-9_.:@-]{1,15}$/.test(device)) {
      throw new PolicyError(`"${device}" cannot be the name of a network device`);
    }
  }
  return anonymous(devices.map((device) => `"${device}"`));
}
