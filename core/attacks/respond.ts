import type { FilterType } from '../filters/catalogue.ts';
import type { MitigationLimit, RuleProtocol } from '../firewall/policy.ts';
import type { MitigationAction } from './actions.ts';
import type { Attack, AttackType, Thresholds } from './attack.ts';
import { REFLECTORS, type Reflector } from './vectors.ts';

/** Who sends most of an attack, and from and to which ports: largest first. Counts may be of samples. */
export interface AttackTops {
  /** Missing: every packet was counted, and the lists name all of them. */
  readonly sampled?: Sampled;
  readonly sources: readonly { readonly source: string; readonly packets: number }[];
  readonly sourcePorts: readonly TopPort[];
  readonly destinationPorts: readonly TopPort[];
}
/** All that the counts are from, named or not. */
export interface Sampled {
  readonly samples: number;
  /** What they stand for. */
  readonly packets: number;
}
interface TopPort {
  readonly port: number;
  /** Missing: it may be of any. */
  readonly protocol?: 'tcp' | 'udp';
  readonly packets: number;
}

export interface ResponseContext {
  readonly thresholds: Pick<Thresholds, 'pps'>;
}

/** What is done against one attack at most: an edge's message about itself holds as many. */
export const MAX_ACTIONS = 24;
const MAX_PORTS = 6;
const MAX_SOURCES = 8;
/** A port is what the attack is aimed at when so much of it goes there, and most of it goes to such ports. */
const AIMED_SHARE = 0.1;
const AIMED_TOGETHER = 0.5;
/** A source is one of few when it sends so much of the attack, and so many packets of it were seen. */
const SOURCE_SHARE = 0.05;
const SOURCE_EVIDENCE = 20;
/** So often at least among samples: one alone stands for many packets, and may be anybody's. */
const LEAST_SAMPLES = 10;

/** Of a threshold: what strangers may still send together. Servers bear that, and newcomers get through. */
const STRANGERS_SHARE = 0.1;
const LEAST_STRANGERS_PPS = 500;
const MOST_STRANGERS_PPS = 5_000;
/** No player sends as much; what one source may send of UDP. */
const SOURCE_PPS = 2_000;
/** Pings of whoever watches, and what else is not needed by networks: that passes in any case. */
const ICMP_PPS = 200;
const FRAGMENTS_PPS = 500;
/**
 * What an address in an attacked prefix may get at least, where the rates above are shared by all addresses in it: a
 * busy server in the prefix has more newcomers than an equal part. All together get no more than those rates: of an
 * attack spread over thousands of addresses these parts would add up to it.
 */
const LEAST_EACH_PPS = 50;

/**
 * What to do against an attack: the same for the same facts, in an order, each once.
 *
 * Nothing here drops what players use. Dropped is what no player sends (answers of reflectors that nobody asked, one
 * of few sources that floods by itself); of everything else only what is above a rate, and of that only what comes
 * from whoever the protected host has not answered, where an edge can tell.
 */
export function planMitigations(
  { type, shares, subject }: Pick<Attack, 'type' | 'shares' | 'subject'>,
  tops: AttackTops | null,
  context: ResponseContext,
): readonly MitigationAction[] {
  // Of what kinds it is may not be known (yet): then it is any other flood.
  const several = type === 'multi_vector' && shares.length > 0;
  const kinds = several ? shares.map((one) => one.type) : [type];
  const facts: Facts = {
    single: !subject.includes('/'),
    several,
    tops: ofFamily(tops ?? NO_TOPS, subject),
    subject,
    strangersPps: clamp(context.thresholds.pps * STRANGERS_SHARE),
  };
  const actions = new Map<string, MitigationAction>();
  for (const kind of kinds) {
    for (const action of against(kind, facts)) actions.set(JSON.stringify(action), action);
  }
  return [...actions.values()].slice(0, MAX_ACTIONS);
}

interface Facts {
  /** One address, not a prefix that the attack is spread over. */
  readonly single: boolean;
  /** Of several vectors: whoever is named may send any of them. */
  readonly several: boolean;
  readonly tops: AttackTops;
  readonly subject: string;
  readonly strangersPps: number;
}

const NO_TOPS: AttackTops = { sources: [], sourcePorts: [], destinationPorts: [] };

/** A policy cannot name sources of another family than its own. */
function ofFamily(tops: AttackTops, subject: string): AttackTops {
  const isSix = subject.includes(':');
  return { ...tops, sources: tops.sources.filter(({ source }) => source.includes(':') === isSix) };
}

function against(type: AttackType, facts: Facts): MitigationAction[] {
  const reflector = reflectorOf(type);
  if (reflector !== null) return [{ kind: 'reflector', reflector }, { kind: 'fragments' }];
  return (AGAINST[type] ?? againstOthers)(facts);
}

const AGAINST: Readonly<Partial<Record<AttackType, (facts: Facts) => MitigationAction[]>>> = {
  udp_flood: againstUdp,
  tcp_syn_flood: againstTcp,
  tcp_syn_ack_flood: againstTcp,
  tcp_ack_flood: againstTcp,
  tcp_rst_flood: againstTcp,
  icmp_flood: ({ subject }) => held(subject, 'icmp', null, ICMP_PPS),
  gre_flood: (facts) => [...sources('gre', facts), ...strangers(facts, 'gre')],
  ip_fragment_flood: ({ subject }) =>
    held(subject, 'any', null, FRAGMENTS_PPS).map((one) => ({ ...one, fragment: 'later' })),
};

function againstOthers(facts: Facts): MitigationAction[] {
  return strangers(facts, 'any');
}

function againstUdp(facts: Facts): MitigationAction[] {
  const ports = aimedPorts(facts, 'udp');
  const filters = facts.single ? filtersOn('udp-stateful', ports) : [];
  return [
    ...sources('udp', facts),
    limit('udp', null, { per: 'source', pps: SOURCE_PPS, strangersOnly: false }),
    ...(ports.length === 0 || facts.several
      ? strangers(facts, 'udp')
      : ports.flatMap((port) => strangers(facts, 'udp', port))),
    ...filters,
  ];
}

/**
 * A SYN proxy lets everybody in who is there, so ports that have one need no rate; it would only keep newcomers out.
 * Where there is no port to stand before, strangers are held to a rate.
 */
function againstTcp(facts: Facts): MitigationAction[] {
  const ports = facts.single ? aimedPorts(facts, 'tcp') : [];
  if (ports.length > 0) {
    return [...sources('tcp', facts), ...filtersOn('tcp-syn-proxy', ports)];
  }
  return [...sources('tcp', facts), ...strangers(facts, 'tcp')];
}

function strangers(
  { subject, strangersPps }: Facts,
  protocol: RuleProtocol,
  port: number | null = null,
): LimitAction[] {
  return held(subject, protocol, port, strangersPps, true);
}

/** Of a prefix, each address to its part, and then all of them together. */
function held(
  subject: string,
  protocol: RuleProtocol,
  port: number | null,
  pps: number,
  strangersOnly = false,
): LimitAction[] {
  const own = limit(protocol, port, { per: 'destination', pps: each(subject, pps), strangersOnly });
  if (!subject.includes('/')) return [own];
  return [own, limit(protocol, port, { per: 'attack', pps, strangersOnly })];
}

type LimitAction = Extract<MitigationAction, { kind: 'limit' }>;

function limit(protocol: RuleProtocol, port: number | null, rate: MitigationLimit): LimitAction {
  return { kind: 'limit', protocol, port, fragment: 'any', limit: rate };
}

/** Few sources are those that send much of the attack each; of forged ones none does. */
function sources(protocol: RuleProtocol, { tops }: Facts): MitigationAction[] {
  const least = Math.max(SOURCE_EVIDENCE, leastSeen(tops), totalOf(tops) * SOURCE_SHARE);
  return tops.sources
    .filter(({ packets }) => packets >= least)
    .slice(0, MAX_SOURCES)
    .map(({ source }) => ({ kind: 'source', source, protocol }));
}

/** Of several vectors, each has ports of its own. */
function aimedPorts({ tops, several }: Facts, of: 'tcp' | 'udp'): number[] {
  const total = totalOf(tops);
  const least = Math.max(leastSeen(tops), total * AIMED_SHARE);
  const aimed = tops.destinationPorts
    .filter(({ port, protocol = of, packets }) => port > 0 && protocol === of && packets >= least)
    .slice(0, MAX_PORTS);
  const together = aimed.reduce((sum, { packets }) => sum + packets, 0);
  // What is done before these ports alone would let most of it pass.
  if (!several && together < total * AIMED_TOGETHER) return [];
  return aimed.map(({ port }) => port);
}

function leastSeen({ sampled }: AttackTops): number {
  return sampled === undefined ? 0 : (LEAST_SAMPLES * sampled.packets) / sampled.samples;
}

/** Also where it stands already: what an edge confirms is then known to stand for as long as the attack. */
function filtersOn(type: FilterType, ports: readonly number[]): MitigationAction[] {
  return ports.map((port) => ({ kind: 'filter', type, port }));
}

/** What was counted; where that is not told, at least: each list is of the same packets, cut after the largest. */
function totalOf({ sampled, sources: from, sourcePorts, destinationPorts }: AttackTops): number {
  if (sampled !== undefined) return sampled.packets;
  const sums = [from, sourcePorts, destinationPorts].map((list) =>
    list.reduce((sum, { packets }) => sum + packets, 0),
  );
  return Math.max(...sums);
}

function reflectorOf(type: AttackType): Reflector | null {
  const name = type.endsWith('_amplification') ? type.slice(0, -'_amplification'.length) : '';
  return Object.hasOwn(REFLECTORS, name) ? (name as Reflector) : null;
}

function clamp(pps: number): number {
  return Math.round(Math.min(MOST_STRANGERS_PPS, Math.max(LEAST_STRANGERS_PPS, pps)));
}

/** Of a rate, an equal part for each address of a prefix. */
function each(subject: string, pps: number): number {
  const [address = '', length] = subject.split('/');
  if (length === undefined) return pps;
  const addresses = 2 ** ((address.includes(':') ? 128 : 32) - Number(length));
  return Math.min(pps, Math.max(LEAST_EACH_PPS, Math.round(pps / addresses)));
}
