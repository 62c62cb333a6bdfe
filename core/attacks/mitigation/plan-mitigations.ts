import type { FilterType } from '../../filters/catalogue.ts';
import type { MitigationLimit, RuleProtocol } from '../../firewall/policy.ts';
import { keyOf, type MitigationAction } from './actions.ts';
import type { Attack, PresentType, Thresholds } from '../attack.ts';
import type { Sampled, SourceProtocol, TopSource } from '../top-talkers.ts';
import { REFLECTORS, type Reflector } from '../vectors.ts';

/** The top sources and ports of an attack, largest first. Counts may be sampled. */
export interface AttackTops {
  /** Absent: every packet was counted and is in the lists. */
  readonly sampled?: Sampled;
  readonly sources: readonly TopSource[];
  readonly sourcePorts: readonly TopPort[];
  readonly destinationPorts: readonly TopPort[];
}
interface TopPort {
  readonly port: number;
  /** Absent: unknown. */
  readonly protocol?: 'tcp' | 'udp';
  readonly packets: number;
}

export interface ResponseContext {
  readonly thresholds: Pick<Thresholds, 'pps'>;
}

/** The number of samples from which top sources are worth a plan, and the factor for the next one. */
const WORTH_SAMPLES = 10;
const WORTH_TIMES = 4;
/** Where every packet is counted. */
const ALL_SAMPLES = 256;

/** The most actions against one attack, as many as a message of an edge holds. */
export const MAX_ACTIONS = 24;
const MAX_PORTS = 6;
const MAX_SOURCES = 8;
/** A port is a target of the attack above this share, if such ports get most of it together. */
const TARGET_PORT_SHARE = 0.1;
const TARGET_PORTS_TOGETHER = 0.5;
/** A source is dropped by itself if it certainly sends more than this share: three standard errors of its samples above it. */
const SOURCE_SHARE = 0.05;
const SOURCE_ERRORS = 3;
/** The rate in answered UDP flows of one source that no player has, by games and voice twice as much as they send. */
const ANSWERED_FLOOD_PPS = 500;
const LEAST_SOURCE_PACKETS = 20;
/** The least number of samples: a single one stands for many packets by chance. */
const LEAST_SAMPLES = 10;

/**
 * The share of the threshold that unknown sources may send together: servers bear that, and new players get through.
 */
const UNKNOWN_SOURCES_SHARE = 0.1;
const LEAST_UNKNOWN_SOURCES_PPS = 500;
const MOST_UNKNOWN_SOURCES_PPS = 5_000;
/** The rate of one source: no player sends more. */
const SOURCE_PPS = 2_000;
/** The rate of ICMP that networks do not need, such as monitoring pings. Needed ICMP always passes. */
const ICMP_PPS = 200;
const FRAGMENTS_PPS = 500;
/**
 * The least rate per address of an attacked prefix, where the rates above are shared by all addresses: a busy server
 * has more new players than an equal share. The shared rates still bound the sum.
 */
const LEAST_EACH_PPS = 50;

/**
 * Plans the actions against an attack: deterministic, ordered, without duplicates. Traffic of players is not dropped.
 * Dropped is what no player sends: unrequested reflector answers, and single flooding sources. Everything else is
 * limited by rates, and only for sources that the protected host has not answered, where an edge sees that.
 */
export function planMitigations(
  { type, shares, present, subject }: Pick<Attack, 'type' | 'shares' | 'present' | 'subject'>,
  tops: AttackTops | null,
  context: ResponseContext,
): readonly MitigationAction[] {
  const kinds = typesOf({ type, shares, present });
  const several = kinds.length > 1;
  const facts: Facts = {
    single: !subject.includes('/'),
    several,
    tops: ofFamily(tops ?? NO_TOPS, subject),
    subject,
    leastPps: context.thresholds.pps,
    unknownSourcesPps: clamp(context.thresholds.pps * UNKNOWN_SOURCES_SHARE),
  };
  const actions = new Map<string, MitigationAction>();
  for (const kind of kinds) {
    for (const action of actionsAgainst(kind, facts)) actions.set(JSON.stringify(action), action);
  }
  return [...actions.values()].slice(0, MAX_ACTIONS);
}

/**
 * Plans the actions from those in force on, for control and for an edge alone: an action stays as long as a type that it is
 * against is present, which a pause of up to the hold time does not end, and the others end together.
 */
export function replanMitigations(
  active: readonly MitigationAction[],
  attack: Pick<Attack, 'type' | 'shares' | 'present' | 'subject'>,
  tops: AttackTops | null,
  context: ResponseContext,
): readonly MitigationAction[] {
  const types = typesOf(attack);
  const stays = active.filter((action) => isAgainst(action, types));
  const wanted = new Map(stays.map((action) => [keyOf(action), action]));
  for (const action of planMitigations(attack, tops, context)) {
    if (wanted.size < MAX_ACTIONS) wanted.set(keyOf(action), action);
  }
  return [...wanted.values()];
}

/**
 * The number of samples behind the tops if they are worth a new plan after one with `planned` samples, else null. A flood is
 * detected before its sources are known, and mitigation waits for neither.
 */
export function worthSamples(tops: AttackTops | null, planned: number): number | null {
  const samples = tops === null ? 0 : (tops.sampled?.samples ?? ALL_SAMPLES);
  return samples < Math.max(WORTH_SAMPLES, planned * WORTH_TIMES) ? null : samples;
}

/**
 * The types against which an attack is mitigated: all that exceed a threshold by themselves. Where none does, they do together,
 * and then its name tells which. Without known types it is another flood.
 */
export function typesOf({
  type,
  shares,
  present = [],
}: Pick<Attack, 'type' | 'shares' | 'present'>): readonly PresentType[] {
  if (present.length > 0) return present;
  return type === 'multi_vector' && shares.length > 0 ? shares.map((one) => one.type) : [type];
}

/** Whether an action, perhaps planned from what was known earlier, is still one against an attack of these types. */
export function isAgainst(action: MitigationAction, types: readonly PresentType[]): boolean {
  return types.some((type) => isAgainstType(action, type));
}

function isAgainstType(action: MitigationAction, type: PresentType): boolean {
  const reflector = reflectorOf(type);
  switch (action.kind) {
    case 'reflector':
      return action.reflector === reflector;
    case 'fragments':
      return reflector !== null;
    case 'filter':
      return protocolOf(type) === (action.type === 'tcp-syn-proxy' ? 'tcp' : 'udp');
    case 'source':
      return action.protocol === protocolOf(type);
    case 'limit':
    default:
      return action.fragment === 'later'
        ? type === 'ip_fragment_flood'
        : type !== 'ip_fragment_flood' && action.protocol === protocolOf(type);
  }
}

function protocolOf(type: PresentType): RuleProtocol | null {
  if (type.startsWith('tcp_')) return 'tcp';
  if (type === 'udp_flood') return 'udp';
  if (type === 'icmp_flood') return 'icmp';
  if (type === 'gre_flood') return 'gre';
  return reflectorOf(type) === null ? 'any' : null;
}

interface Facts {
  /** The attack is on one address, not on a prefix. */
  readonly single: boolean;
  /** With several vectors a listed source may send any of them. */
  readonly several: boolean;
  readonly tops: AttackTops;
  readonly subject: string;
  /** The attack has at least this rate. */
  readonly leastPps: number;
  readonly unknownSourcesPps: number;
}

const NO_TOPS: AttackTops = { sources: [], sourcePorts: [], destinationPorts: [] };

/** A policy can only name sources of its own family. */
function ofFamily(tops: AttackTops, subject: string): AttackTops {
  const isSix = subject.includes(':');
  return { ...tops, sources: tops.sources.filter(({ source }) => source.includes(':') === isSix) };
}

function actionsAgainst(type: PresentType, facts: Facts): MitigationAction[] {
  const reflector = reflectorOf(type);
  if (reflector !== null) return [{ kind: 'reflector', reflector }, { kind: 'fragments' }];
  return (ACTIONS_AGAINST[type] ?? againstOthers)(facts);
}

const ACTIONS_AGAINST: Readonly<
  Partial<Record<PresentType, (facts: Facts) => MitigationAction[]>>
> = {
  udp_flood: againstUdp,
  tcp_syn_flood: againstTcp,
  tcp_syn_ack_flood: againstTcp,
  tcp_ack_flood: againstTcp,
  tcp_rst_flood: againstTcp,
  tcp_other_flood: againstTcp,
  icmp_flood: ({ subject }) => limitActions(subject, 'icmp', null, ICMP_PPS),
  gre_flood: (facts) => [...sources('gre', facts), ...limitUnknownSources(facts, 'gre')],
  ip_fragment_flood: ({ subject }) =>
    limitActions(subject, 'any', null, FRAGMENTS_PPS).map((one) => ({
      ...one,
      fragment: 'later',
    })),
};

function againstOthers(facts: Facts): MitigationAction[] {
  return limitUnknownSources(facts, 'any');
}

function againstUdp(facts: Facts): MitigationAction[] {
  const ports = targetPorts(facts, 'udp');
  const filters = facts.single ? filtersOn('udp-stateful', ports) : [];
  return [
    ...sources('udp', facts),
    limit('udp', null, { per: 'source', pps: SOURCE_PPS, unansweredOnly: false }),
    ...(ports.length === 0 || facts.several
      ? limitUnknownSources(facts, 'udp')
      : ports.flatMap((port) => limitUnknownSources(facts, 'udp', port))),
    ...filters,
  ];
}

/**
 * A SYN proxy admits every real client of its port, and the limit leaves the ports of proxies out (`proxiedPorts`), so that it
 * refuses no client there, whichever of the two came first.
 */
function againstTcp(facts: Facts): MitigationAction[] {
  const ports = facts.single ? targetPorts(facts, 'tcp') : [];
  return [
    ...sources('tcp', facts),
    // A flood in connections that a few real sources have opened passes everything that spares answered ones.
    ...(hasLargeConnections(facts)
      ? [limit('tcp', null, { per: 'source', pps: SOURCE_PPS, unansweredOnly: false })]
      : []),
    ...limitUnknownSources(facts, 'tcp'),
    ...filtersOn('tcp-syn-proxy', ports),
  ];
}

function limitUnknownSources(
  { subject, unknownSourcesPps }: Facts,
  protocol: RuleProtocol,
  port: number | null = null,
): LimitAction[] {
  return limitActions(subject, protocol, port, unknownSourcesPps, true);
}

/** For a prefix: a limit per address, then one for all together. */
function limitActions(
  subject: string,
  protocol: RuleProtocol,
  port: number | null,
  pps: number,
  unansweredOnly = false,
): LimitAction[] {
  const own = limit(protocol, port, {
    per: 'destination',
    pps: ratePerAddress(subject, pps),
    unansweredOnly,
  });
  if (!subject.includes('/')) return [own];
  return [own, limit(protocol, port, { per: 'attack', pps, unansweredOnly })];
}

type LimitAction = Extract<MitigationAction, { kind: 'limit' }>;

function limit(protocol: RuleProtocol, port: number | null, rate: MitigationLimit): LimitAction {
  return { kind: 'limit', protocol, port, fragment: 'any', limit: rate };
}

/** Sources with a large share each of what nobody answers; forged sources have none. */
function sources(protocol: SourceProtocol & RuleProtocol, facts: Facts): MitigationAction[] {
  const { tops } = facts;
  const least = leastOfSource(tops);
  const isFlood = (one: TopSource): boolean =>
    unansweredOf(one) >= least || (one.packets >= least && floodsAnsweredFlows(one, facts));
  return tops.sources
    .filter((one) => (one.protocol ?? protocol) === protocol && isFlood(one))
    .slice(0, MAX_SOURCES)
    .map(({ source }) => ({ kind: 'source', source, protocol }));
}

/** Whether a source sends a large share of the attack in connections that the subject has answered. */
function hasLargeConnections({ tops }: Facts): boolean {
  const least = leastOfSource(tops);
  return tops.sources.some(({ protocol, answered = 0 }) => protocol === 'tcp' && answered >= least);
}

/**
 * The packets that the subject has not answered. A source whose handshakes complete is real, and its SYNs are requests: one
 * for each connection, in which it sends more.
 */
function unansweredOf({ protocol, packets, answered = 0 }: TopSource): number {
  const unanswered = Math.max(0, packets - answered);
  return protocol === 'tcp' && answered >= unanswered ? 0 : unanswered;
}

/**
 * Whether a source sends more in answered UDP flows than players do, which a forged address with a known port does too. What
 * is answered is then held to the rate of a player, and not dropped.
 */
function floodsAnsweredFlows({ protocol, answered = 0 }: TopSource, facts: Facts): boolean {
  const { tops, leastPps } = facts;
  return protocol === 'udp' && (answered / totalOf(tops)) * leastPps >= ANSWERED_FLOOD_PPS;
}

/** The packets from which the share of a source is certainly too large: fewer samples may be those of any client. */
function leastOfSource(tops: AttackTops): number {
  const total = totalOf(tops);
  const { samples, packets } = tops.sampled ?? { samples: total, packets: total };
  const expected = samples * SOURCE_SHARE;
  const certain = expected + SOURCE_ERRORS * Math.sqrt(expected * (1 - SOURCE_SHARE));
  return Math.max(LEAST_SOURCE_PACKETS, leastSeen(tops), (certain * packets) / samples);
}

/** Each vector has its own ports. */
function targetPorts({ tops, several }: Facts, of: 'tcp' | 'udp'): number[] {
  const total = totalOf(tops);
  const least = Math.max(leastSeen(tops), total * TARGET_PORT_SHARE);
  const targets = tops.destinationPorts
    .filter(({ port, protocol = of, packets }) => port > 0 && protocol === of && packets >= least)
    .slice(0, MAX_PORTS);
  const together = targets.reduce((sum, { packets }) => sum + packets, 0);
  // Actions on these ports alone would let most of the attack pass.
  if (!several && together < total * TARGET_PORTS_TOGETHER) return [];
  return targets.map(({ port }) => port);
}

function leastSeen({ sampled }: AttackTops): number {
  return sampled === undefined ? 0 : (LEAST_SAMPLES * sampled.packets) / sampled.samples;
}

/** Also if the filter exists already, so that it stays for the duration of the attack. */
function filtersOn(type: FilterType, ports: readonly number[]): MitigationAction[] {
  return ports.map((port) => ({ kind: 'filter', type, port }));
}

/** The counted packets, or without that number a lower bound: every list covers the same packets. */
function totalOf({ sampled, sources: from, sourcePorts, destinationPorts }: AttackTops): number {
  if (sampled !== undefined) return sampled.packets;
  const sums = [from, sourcePorts, destinationPorts].map((list) =>
    list.reduce((sum, { packets }) => sum + packets, 0),
  );
  return Math.max(...sums);
}

function reflectorOf(type: PresentType): Reflector | null {
  const name = type.endsWith('_amplification') ? type.slice(0, -'_amplification'.length) : '';
  return Object.hasOwn(REFLECTORS, name) ? (name as Reflector) : null;
}

function clamp(pps: number): number {
  return Math.round(Math.min(MOST_UNKNOWN_SOURCES_PPS, Math.max(LEAST_UNKNOWN_SOURCES_PPS, pps)));
}

/** An equal share of a rate for each address of a prefix. */
function ratePerAddress(subject: string, pps: number): number {
  const [address = '', length] = subject.split('/');
  if (length === undefined) return pps;
  const addresses = 2 ** ((address.includes(':') ? 128 : 32) - Number(length));
  return Math.min(pps, Math.max(LEAST_EACH_PPS, Math.round(pps / addresses)));
}
