import { networkContains, protocolNumber, ruleMatches } from '../match.ts';
import { isNeededIcmp } from '../needed-icmp.ts';
import type { EdgeSettings, Packet, PacketState } from '../packet.ts';
import type { Mitigation, MitigationLimit, Policy, PolicyRule, SourceSets } from '../policy.ts';
import type { PolicyTable } from '../policy-table.ts';
import { anySetHas } from '../source-sets.ts';
import { STAGES, type StageName } from '../stages.ts';
import { FILTERS } from '../../filters/catalogue.ts';
import type { Filter } from '../../filters/filter.ts';
import { evaluateFilters } from '../../filters/evaluate.ts';
import { proxiedPorts } from '../../filters/proxied-ports.ts';
import { combineFilters } from '../../filters/program.ts';
import { withSettings } from '../../filters/settings.ts';

/** An edge with its settings, policies and source sets. */
export interface EdgeView {
  readonly settings: EdgeSettings;
  readonly policies: PolicyTable;
  readonly sourceSets: SourceSets;
  /** The filters that it knows. Absent: those of this version. */
  readonly catalogue?: readonly Filter[];
}

export interface Verdict {
  readonly action: 'pass' | 'drop';
  /** The deciding stage; `default` if no rule matched. */
  readonly stage: StageName;
  /** The deciding rule, geo rule, mitigation or filter; null if a stage decides without one. */
  readonly ref: string | null;
  /** Observing mitigations that would have dropped the packet. */
  readonly observed: readonly string[];
}

/**
 * The reference evaluator: whether an edge passes a packet, and what decides. Written to be obviously correct rather
 * than fast. The data planes are tested against it, and it answers `explain`. A packet to a destination without a
 * policy passes.
 */
export function decide(edge: EdgeView, packet: Packet, state: PacketState): Verdict {
  const policy = edge.policies.lookup(packet.destination);
  const evaluation: Evaluation = { edge, packet, state, policy, observed: [] };
  let toFilters: { stage: StageName; ref: string | null } | null = null;
  for (const { name } of STAGES) {
    if (toFilters !== null && name !== 'filters') continue;
    const outcome = STAGE_EVALUATORS[name](evaluation);
    if (outcome === null) continue;
    if (outcome.action === 'to-filters') toFilters = { stage: name, ref: outcome.ref };
    else
      return {
        action: outcome.action,
        stage: name,
        ref: outcome.ref,
        observed: evaluation.observed,
      };
  }
  const { stage, ref } = toFilters ?? { stage: 'default' as const, ref: null };
  return { action: 'pass', stage, ref, observed: evaluation.observed };
}

interface Evaluation {
  readonly edge: EdgeView;
  readonly packet: Packet;
  readonly state: PacketState;
  readonly policy: Policy | null;
  readonly observed: string[];
}

/** The result of a stage: a final pass or drop, a pass to the filters, or no decision (null). */
type Outcome = {
  readonly action: 'pass' | 'drop' | 'to-filters';
  readonly ref: string | null;
} | null;

const STAGE_EVALUATORS: Readonly<Record<StageName, (evaluation: Evaluation) => Outcome>> = {
  management: (evaluation) => {
    const { edge, packet } = evaluation;
    if (fragmentOverLimit(evaluation)) return null;
    if (!edge.settings.localAddresses.includes(packet.destination)) return null;
    if (packet.fragment === 'later') return null;
    const managed = edge.settings.management.some(
      ({ protocol, port }) =>
        protocolNumber(protocol, packet.family) === packet.protocol &&
        port === packet.destinationPort,
    );
    return managed ? { action: 'pass', ref: null } : null;
  },

  'needed-icmp': (evaluation) =>
    isNeededIcmp(evaluation.packet) &&
    evaluation.state.icmpWithinRate &&
    !fragmentOverLimit(evaluation)
      ? { action: 'pass', ref: null }
      : null,

  'fragment-limits': (evaluation) =>
    fragmentOverLimit(evaluation) ? { action: 'drop', ref: null } : null,

  'return-traffic': ({ edge, state }) =>
    edge.settings.sees === 'both' && state.returnTraffic ? { action: 'pass', ref: null } : null,

  mitigations: (evaluation) => {
    const { policy, packet, observed } = evaluation;
    for (const mitigation of policy?.mitigations ?? []) {
      if (!mitigationMatches(mitigation, packet)) continue;
      const { ref, limit } = mitigation;
      if (limit !== null && !isAbove(ref, limit, evaluation)) continue;
      if (mitigation.mode === 'enforce') return { action: 'drop', ref: mitigation.ref };
      observed.push(mitigation.ref);
    }
    return null;
  },

  baseline: ({ policy, packet }) => firstMatch(policy?.baseline ?? [], packet),

  'blocked-sources': ({ edge, policy, packet }) => {
    const list = policy?.blocked.find((name) => anySetHas(edge.sourceSets, [name], packet.source));
    return list === undefined ? null : { action: 'drop', ref: list };
  },

  'named-allows': ({ policy, packet }) =>
    firstMatch(
      policy?.rules.filter((rule) => rule.action === 'allow' && rule.source !== null) ?? [],
      packet,
    ),

  geo: ({ edge, policy, packet }) => {
    const inSets = (sets: readonly string[]): boolean =>
      anySetHas(edge.sourceSets, sets, packet.source);
    const geo = policy?.geo ?? [];
    const denied = geo.find((rule) => rule.action === 'deny' && inSets(rule.sets));
    const outside = geo.find((rule) => rule.action === 'only' && !inSets(rule.sets));
    const decided = denied ?? outside;
    return decided === undefined ? null : { action: 'drop', ref: decided.ref };
  },

  rules: ({ policy, packet }) => firstMatch(policy?.rules ?? [], packet),

  default: ({ policy }) => (policy?.default === 'deny' ? { action: 'drop', ref: null } : null),

  filters: ({ edge, policy, packet, state }) => {
    const { destinationPort: port, protocol, family, fragment } = packet;
    if (state.filtered === null || fragment === 'later') return null;
    const transport = (['tcp', 'udp'] as const).find(
      (one) => protocolNumber(one, family) === protocol,
    );
    if (transport === undefined) return null;
    const catalogue: readonly Filter[] = edge.catalogue ?? FILTERS;
    const filters = (policy?.filters ?? [])
      .filter((filter) => filter.port === port && !isSafe(filter, packet))
      .flatMap(({ ref, type, settings }) => {
        const filter = catalogue.find((one) => one.type === type);
        return filter?.[transport] ? { ref, filter: withSettings(filter, settings) } : [];
      });
    const program = combineFilters(
      filters.map(({ filter }) => filter),
      transport,
    );
    if (program === null) return null;
    const reason = evaluateFilters(program, edge.settings.sees, packet.sourcePort, state.filtered);
    return reason === null ? null : { action: 'drop', ref: filters[0]?.ref ?? null };
  },
};

/** Fragment limits come before reassembly, so a fragment above them never reaches the stages with a final pass. */
function fragmentOverLimit({ policy, packet, state }: Evaluation): boolean {
  return policy !== null && packet.fragment !== 'none' && !state.fragmentsWithinLimit;
}

/** Allow before deny, whatever the input order. */
function firstMatch(rules: readonly PolicyRule[], packet: Packet): Outcome {
  const matching = rules.filter((rule) => ruleMatches(rule, packet));
  const decided = matching.find((rule) => rule.action === 'allow') ?? matching[0];
  if (decided === undefined) return null;
  return { action: decided.action === 'allow' ? 'to-filters' : 'drop', ref: decided.ref };
}

function isAbove(ref: string, limit: MitigationLimit, evaluation: Evaluation): boolean {
  const pps = rateOf(limit, evaluation);
  return pps !== null && (pps === 0 || evaluation.state.aboveLimit.includes(ref));
}

/** The rate that the packet is limited to; null if it is not limited. */
function rateOf(limit: MitigationLimit, evaluation: Evaluation): number | null {
  const { pps, unansweredOnly, answeredPps = null } = limit;
  if (!unansweredOnly) return pps;
  const { edge, state } = evaluation;
  if (edge.settings.sees === 'inbound' || state.answered) return answeredPps;
  return pps > 0 && isProxied(evaluation) ? null : pps;
}

/** The SYN proxy of a port decides about unanswered sources by their handshakes, so no rate limit does. */
function isProxied({ edge, packet, policy }: Evaluation): boolean {
  if (packet.destinationPort === null || policy === null) return false;
  return (
    packet.protocol === protocolNumber('tcp', packet.family) &&
    proxiedPorts(policy.filters, edge.catalogue).includes(packet.destinationPort)
  );
}

function mitigationMatches(mitigation: Mitigation, packet: Packet): boolean {
  const { ref, protocol, destinationPort: port, source, sourcePort } = mitigation;
  if (mitigation.fragment === 'later' && packet.fragment !== 'later') return false;
  if (isSafe(mitigation, packet)) return false;
  if (sourcePort !== null && sourcePort !== packet.sourcePort) return false;
  return ruleMatches({ ref, action: 'deny', protocol, port, source }, packet);
}

function isSafe({ safelist }: Pick<Mitigation, 'safelist'>, { source }: Packet): boolean {
  return safelist.some((network) => networkContains(network, source));
}
