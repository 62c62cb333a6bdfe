import { createHash } from 'node:crypto';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import { proxiedPorts } from '@portcullis/core/filters/proxied-ports.ts';
import type { Mitigation, MitigationLimit, Policy } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import { OBSERVED, ruleDrop, uncountedChain } from '../table/drop-counters.ts';
import type { Filtering } from '../filters/compile.ts';
import { type FilterState, stateSet } from '../filters/state.ts';
import { networkFrom, PolicyError } from '../../compile/match.ts';
import { IP, protocolName } from '../names.ts';
import { networkSet, safeNetworks } from '../filters/safe-sources.ts';

/**
 * Stage 5 of one target: the rules of each mitigation, in order, which match what it drops. The rules are in the
 * target's own chain before its other rules, so they cost nothing for other targets. Observing mitigations are in a
 * chain of their own, added by `addChain`; after one of them matches, the others are not evaluated.
 */
export function mitigationStatements(
  { mitigations, filters }: Policy,
  family: Family,
  { sees, catalogue }: Pick<Filtering, 'sees' | 'catalogue'>,
  addChain: (statements: readonly string[]) => string,
): string[] {
  const supported = mitigations.filter(
    ({ safelist }) => !safeNetworks(safelist, family).some(({ length }) => length === 0),
  );
  const context = { family, sees, proxied: proxiedPorts(filters, catalogue) };
  const statements: string[] = [];
  let observing: string[] = [];
  const addObserving = (): void => {
    if (observing.length > 0) statements.push(`jump ${addChain(observing)}`);
    observing = [];
  };
  for (const mitigation of supported) {
    const own = statementsOf(mitigation, context);
    if (mitigation.mode === 'observe') {
      observing.push(...own);
      continue;
    }
    addObserving();
    statements.push(...own);
  }
  addObserving();
  return statements;
}

interface Context extends Pick<Filtering, 'sees'> {
  readonly family: Family;
  /** The TCP ports with SYN proxies. */
  readonly proxied: readonly number[];
}

/** A mitigation has a rule for each of its parts, of which a packet matches one. */
function statementsOf(mitigation: Mitigation, context: Context): string[] {
  const { protocol, sourcePort, destinationPort, fragment, mode } = mitigation;
  const { family } = context;
  const before = [
    ...sourceMatches(mitigation, family),
    ...(protocol === 'any'
      ? []
      : [`meta l4proto ${protocolName(protocolNumber(protocol, family))}`]),
    ...portMatches(mitigation, 'sport', sourcePort),
    ...portMatches(mitigation, 'dport', destinationPort),
    ...(fragment === 'later' ? [LATER_FRAGMENT[family]] : []),
  ];
  const verdict = mode === 'enforce' ? ruleDrop('mitigated') : `goto ${uncountedChain(OBSERVED)}`;
  return partsOf(mitigation, context).map(({ matches, limit }) =>
    [
      ...before,
      ...matches,
      ...(limit === null || limit.pps === 0 ? [] : [limitMatch(limit, family)]),
      verdict,
    ].join(' '),
  );
}

/** The packets of a mitigation that have one rate. Null drops all, as 0 does. */
interface Part {
  readonly matches: readonly string[];
  readonly limit: RateLimit | null;
}

interface RateLimit {
  readonly per: MitigationLimit['per'] | 'flow';
  readonly pps: number;
  /** The part of a name that tells the element apart from others of the same address. */
  readonly name: string;
}

function partsOf(mitigation: Mitigation, context: Context): Part[] {
  const { ref, limit } = mitigation;
  if (limit === null) return [{ matches: [], limit: null }];
  const { per, pps, unansweredOnly, answeredPps } = limit;
  if (!unansweredOnly) return [{ matches: [], limit: { per, pps, name: ref } }];
  if (context.sees === 'both') {
    return transportsOf(mitigation).flatMap((transport) => [
      ...unanswered(mitigation, limit, transport, context),
      ...answeredLate(mitigation, limit, transport, context),
      ...answered(mitigation, limit, transport),
    ]);
  }
  // Which packets are answered is unknown if replies take another route.
  if (answeredPps === undefined) return [];
  return [{ matches: [], limit: { per: 'source', pps: answeredPps, name: `${ref} answered` } }];
}

/** Each has its own rate: a flood of one excludes no new clients of another. */
type Transport = 'tcp' | 'udp' | 'other';

function transportsOf({ protocol }: Mitigation): Transport[] {
  if (protocol === 'any') return ['tcp', 'udp', 'other'];
  return [protocol === 'tcp' || protocol === 'udp' ? protocol : 'other'];
}

const TRANSPORT: Readonly<Record<Transport, string>> = {
  tcp: 'meta l4proto tcp',
  udp: 'meta l4proto udp',
  other: 'meta l4proto != { tcp, udp }',
};

/**
 * Packets that the protected host has not answered. A SYN of an existing connection counts as unanswered: the answer
 * to the first SYN of a forged source makes conntrack take those after it for established. A limit leaves out the
 * ports of SYN proxies.
 */
function unanswered(
  { ref, protocol, destinationPort }: Mitigation,
  { per, pps }: MitigationLimit,
  transport: Transport,
  { proxied }: Context,
): Part[] {
  const isAny = protocol === 'any';
  const only = isAny ? [TRANSPORT[transport]] : [];
  const limit = { per, pps, name: isAny ? `${ref} ${transport}` : ref };
  const leavesOut = transport === 'tcp' && pps > 0 && proxied.length > 0;
  if (leavesOut && destinationPort !== null && proxied.includes(destinationPort)) return [];
  const isAnyPort = leavesOut && destinationPort === null;
  const ports = isAnyPort ? [`th dport != { ${proxied.join(', ')} }`] : [];
  const part = (...matches: string[]): Part => ({
    matches: [...only, ...ports, ...matches],
    limit,
  });
  if (transport !== 'tcp') return [part('ct state != established')];
  return [part('ct state != established'), part('ct state established', `${SYN_FLAGS} == syn`)];
}

/**
 * Packets of a flooding source that the host answered before the mitigation came. Conntrack marks a UDP flow as assured at
 * a packet two seconds after its first, also if that packet is dropped here. So flows of the attack itself are remembered
 * before they are two seconds old.
 */
function answeredLate(
  { protocol }: Mitigation,
  { pps, answeredPps }: MitigationLimit,
  transport: Transport,
  { family }: Context,
): Part[] {
  if (pps > 0 || answeredPps === undefined || transport !== 'udp') return [];
  const flow = keyFields('flow', family).join(' . ');
  const late = stateSet('answered_late', family);
  const only = protocol === 'any' ? [TRANSPORT.udp] : [];
  return ['ct status & assured == 0', `${flow} @${late}`].map((which) => ({
    matches: [...only, which, `update @${late} { ${flow} }`],
    limit: null,
  }));
}

/** The flows that the protected host has answered, if they are limited. */
function answered(
  { ref, protocol }: Mitigation,
  { answeredPps }: MitigationLimit,
  transport: Transport,
): Part[] {
  if (answeredPps === undefined) return [];
  const matches = [
    ...(protocol === 'any' ? [TRANSPORT[transport]] : []),
    'ct state established',
    ...(transport === 'tcp' ? [`${SYN_FLAGS} != syn`] : []),
  ];
  const per = transport === 'other' ? 'source' : 'flow';
  const name = `${ref} ${transport} answered`;
  return [{ matches, limit: { per, pps: answeredPps, name } }];
}

const SYN_FLAGS = 'tcp flags & (fin | syn | rst | ack)';

const LATER_FRAGMENT: Readonly<Record<Family, string>> = {
  4: 'ip frag-off & 0x1fff != 0',
  6: 'frag frag-off != 0',
};

function sourceMatches({ ref, source, safelist }: Mitigation, family: Family): string[] {
  const saddr = `${IP[family]} saddr`;
  const matches: string[] = [];
  if (source !== null) {
    const network = networkFrom(source);
    if (network.family !== family)
      throw new PolicyError(`${ref} names a source of the other family`);
    if (network.length > 0) matches.push(`${saddr} ${formatNetwork(network)}`);
  }
  const safe = safeNetworks(safelist, family);
  if (safe.length > 0) matches.push(`${saddr} != ${networkSet(safe)}`);
  return matches;
}

function portMatches({ ref, protocol }: Mitigation, field: string, port: number | null): string[] {
  if (port === null) return [];
  if (protocol !== 'tcp' && protocol !== 'udp') {
    throw new PolicyError(`${ref} names a port of a protocol without ports`);
  }
  if (!(port >= 0 && port <= 65_535))
    throw new PolicyError(`${ref} names a port that there is not`);
  return [`th ${field} ${port}`];
}

/** Does not match when the set is full, so a full set drops no packets. */
function limitMatch({ per, pps, name }: RateLimit, family: Family): string {
  if (!Number.isSafeInteger(pps) || pps < 0) throw new PolicyError(`${name} has no whole limit`);
  const key = [...keyFields(per, family), numberOf(`${name} ${pps}`)];
  const set = stateSet(RATES[per], family);
  return `update @${set} { ${key.join(' . ')} limit rate over ${pps}/second burst ${pps} packets }`;
}

const RATES: Readonly<Record<RateLimit['per'], FilterState>> = {
  destination: 'mitigated_destination',
  attack: 'mitigated_destination',
  source: 'mitigated_source',
  flow: 'mitigated_flow',
};

function keyFields(per: RateLimit['per'], family: Family): string[] {
  const ip = IP[family];
  // All addresses of an attacked prefix share one element, whichever chain evaluates them.
  if (per === 'attack') return [NO_ADDRESS[family]];
  if (per === 'flow') return [`${ip} saddr`, 'th sport', `${ip} daddr`, 'th dport'];
  return [`${ip} daddr`, ...(per === 'source' ? [`${ip} saddr`] : [])];
}

const NO_ADDRESS: Readonly<Record<Family, string>> = { 4: '0.0.0.0', 6: '::' };

/**
 * A number for a mitigation and its rate, because an element keeps its initial rate. Only mitigations of the same
 * address, or of any attacked prefix, could collide, with a probability of 2^-32.
 */
function numberOf(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
