import {
  type IcmpBudget,
  NEEDED_ICMP,
  type NeededIcmp,
} from '@portcullis/core/firewall/needed-icmp.ts';
import { STAGES, type StageName } from '@portcullis/core/firewall/stages.ts';
import { reasonChains } from '../filters/state.ts';
import type { RenderedChain } from '../chain.ts';
import type { EdgeRules } from './edge-rules.ts';
import { deniedFlowChains, REPLIES } from './denied-flows.ts';
import { declareDropCounters, dropChains } from './drop-counters.ts';
import {
  BEFORE_REASSEMBLY,
  declareFragmentState,
  fragmentChains,
  partGoes,
  putTogether,
} from './fragment-limits.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { dispatchStatement } from '../names.ts';
import { PolicyError } from '../../compile/match.ts';

/** After conntrack (-200) has found the connection, before Docker's DNAT (-100) rewrites the destination. */
const BESIDE_CONNECTIONS = -150;
/** Put together (-400), not yet tracked: what is dropped costs no connection. */
const BEFORE_CONNECTIONS = -290;
const JUDGE_IP6 = 'meta nfproto ipv6 goto judge6';

/** The chains that do not depend on policies. Throws `PolicyError` on a device no kernel could have. */
export function renderBaseChains(rules: EdgeRules): RenderedChain[] {
  const judges = ([4, 6] as const).map((family) => ({
    name: `judge${family}`,
    statements: STAGES.flatMap(({ name }) => [...renderStage[name](rules, family)]),
  }));
  return [
    { name: 'needed_icmp', statements: NEEDED_ICMP.map(neededIcmp) },
    ...judges,
    ...(rules.sees === 'both' ? judgedBesideConnections(rules) : judgedAtOnce(rules)),
    {
      name: 'filters',
      statements: [dispatchStatement('filter', 4), dispatchStatement('filter', 6), 'accept'],
    },
    ...reasonChains(),
    ...dropChains(),
    ...(rules.sees === 'both' ? deniedFlowChains() : []),
    ...fragmentChains(rules),
    ...reassemblyChains(rules),
  ];
}

/** Where the last of what is judged is, among all that hooks into prerouting. */
export function judgePriority({ sees }: EdgeRules): number {
  return sees === 'both' ? BESIDE_CONNECTIONS : BEFORE_CONNECTIONS;
}

/** Judges every packet that entered by a device of ours. */
export function judgeStatements({ devices }: EdgeRules): string[] {
  return devices.length === 0 ? [] : [elsewhere(devices), JUDGE_IP6, 'goto judge4'];
}

function judgedBesideConnections(rules: EdgeRules): RenderedChain[] {
  const { devices } = rules;
  const parts = ([4, 6] as const).map((family) => partGoes(family, deviceMatch(devices)));
  return [
    { name: 'prerouting', statements: [hookAt(judgePriority(rules)), ...judgeStatements(rules)] },
    ...(devices.length === 0
      ? []
      : [{ name: 'fragments', statements: [hookAt(BEFORE_REASSEMBLY), ...parts] }]),
  ];
}

/**
 * Nothing to wait for: what is whole is judged where parts are told apart, in one hook. A part is judged behind
 * reassembly, where nothing but what was a part is looked at.
 */
function judgedAtOnce(rules: EdgeRules): RenderedChain[] {
  const { devices } = rules;
  const first = hookAt(BEFORE_REASSEMBLY);
  if (devices.length === 0) return [{ name: 'prerouting', statements: [first] }];
  return [
    { name: 'whole6', statements: [partGoes(6), 'goto judge6'] },
    {
      name: 'prerouting',
      statements: [
        first,
        elsewhere(devices),
        'meta nfproto ipv6 goto whole6',
        partGoes(4),
        'goto judge4',
      ],
    },
    ...putTogether(hookAt(judgePriority(rules)), [JUDGE_IP6, 'goto judge4']),
  ];
}

function hookAt(priority: number): string {
  return `type filter hook prerouting priority ${priority}; policy accept;`;
}

/** Exhaustive over the table of stages in core, so that a new stage cannot be forgotten here. */
const renderStage: Readonly<
  Record<StageName, (rules: EdgeRules, family: Family) => readonly string[]>
> = {
  management: (rules) =>
    (['tcp', 'udp'] as const).flatMap((protocol) => passManagement(rules, protocol)),
  // Above its rate a packet does not match there, and is judged by what follows.
  'needed-icmp': (_, family) => [
    `meta l4proto ${family === 4 ? 'icmp' : 'icmpv6'} jump needed_icmp`,
  ],
  // In a hook of its own, before reassembly: fragment-limits.ts.
  'fragment-limits': () => [],
  default: () => [],
  'return-traffic': ({ sees }) => (sees === 'both' ? [`ct direction reply jump ${REPLIES}`] : []),
  // A target's mitigations stand before its rules, in its own chain (mitigations.ts).
  mitigations: () => [],
  // These four are one look-up: every target's program has them in their order (match.ts). The address says what
  // else must be asked (compile.ts).
  baseline: (_, family) => [
    dispatchStatement('address', family),
    dispatchStatement('prefix', family),
  ],
  'named-allows': () => [],
  geo: () => [],
  rules: () => [],
  // What programs accept of a target with filters goes to the chain of that name.
  filters: () => [],
};

/** What manages the host itself passes, in this hook: nothing where it is not managed by that protocol. */
export function passManagement(
  { management }: Pick<EdgeRules, 'management'>,
  protocol: 'tcp' | 'udp',
): string[] {
  const ports = management.filter((one) => one.protocol === protocol).map(({ port }) => port);
  if (ports.length === 0) return [];
  // The port first: a route costs more to look up.
  return [`${protocol} dport ${anonymous(ports)} fib daddr type local accept`];
}

/** One value is compared; a set is looked up. */
function anonymous(values: readonly (number | string)[]): string {
  const unique = [...new Set(values)].toSorted(byNumber);
  return unique.length === 1 ? String(unique[0]) : `{ ${unique.join(', ')} }`;
}

function byNumber(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : a < b ? -1 : 1;
}

/** The kernel reassembles for a namespace as soon as some rule in it reads `ct`; nothing else asks it to. */
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

/** What the base chains share: one limit a budget, and what is remembered of fragments. */
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

/** By name, not index: a device may come and go. Null: no device, so nothing is judged. */
export function deviceMatch(devices: readonly string[]): string | null {
  return devices.length === 0 ? null : `iifname ${namesOf(devices)}`;
}

/** Leaves alone what entered by any other: one rule more for it, one less for what is judged. */
function elsewhere(devices: readonly string[]): string {
  return `iifname != ${namesOf(devices)} accept`;
}

function namesOf(devices: readonly string[]): string {
  for (const device of devices) {
    if (!/^[A-Za-z0-9_.:@-]{1,15}$/.test(device)) {
      throw new PolicyError(`"${device}" cannot be the name of a network device`);
    }
  }
  return anonymous(devices.map((device) => `"${device}"`));
}
