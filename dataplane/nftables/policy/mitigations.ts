import { createHash } from 'node:crypto';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import { proxiedPorts } from '@portcullis/core/filters/proxied-ports.ts';
import type { Mitigation, MitigationLimit, Policy } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import { OBSERVED, ruleDrop, uncountedChain } from '../table/drop-counters.ts';
import type { Filtering } from '../filters/compile.ts';
import { stateSet } from '../filters/state.ts';
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
  const supported = mitigations
    // Established connections are unknown if replies take another route.
    .filter(({ limit }) => limit === null || !limit.strangersOnly || sees === 'both')
    .filter(({ safelist }) => !safeNetworks(safelist, family).some(({ length }) => length === 0));
  const proxied = proxiedPorts(filters, catalogue);
  const statements: string[] = [];
  let observing: string[] = [];
  const addObserving = (): void => {
    if (observing.length > 0) statements.push(`jump ${addChain(observing)}`);
    observing = [];
  };
  for (const mitigation of supported) {
    const own = statementsOf(mitigation, family, proxied);
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

/** A mitigation of strangers has several rules, of which a packet matches one; they share the element of its limit. */
function statementsOf(
  mitigation: Mitigation,
  family: Family,
  proxied: readonly number[],
): string[] {
  const { ref, protocol, sourcePort, destinationPort, fragment, limit, mode } = mitigation;
  const before = [
    ...sourceMatches(mitigation, family),
    ...(protocol === 'any'
      ? []
      : [`meta l4proto ${protocolName(protocolNumber(protocol, family))}`]),
    ...portMatches(mitigation, 'sport', sourcePort),
    ...portMatches(mitigation, 'dport', destinationPort),
    ...(fragment === 'later' ? [LATER_FRAGMENT[family]] : []),
  ];
  const after = [
    ...(limit === null || limit.pps === 0 ? [] : [limitMatch(ref, limit, family)]),
    mode === 'enforce' ? ruleDrop('mitigated') : `goto ${uncountedChain(OBSERVED)}`,
  ];
  const strangers = limit?.strangersOnly === true ? strangerMatches(mitigation, proxied) : [[]];
  return strangers.map((matches) => [...before, ...matches, ...after].join(' '));
}

/**
 * What the protected host has not answered. A SYN of an existing connection is a stranger: the answer to the first SYN of a forged
 * source makes conntrack take those after it for established. A limit leaves out the ports of SYN proxies.
 */
function strangerMatches(
  { protocol, destinationPort, limit }: Mitigation,
  proxied: readonly number[],
): string[][] {
  const unanswered = 'ct state != established';
  const isTcp = protocol === 'tcp';
  if (!isTcp && protocol !== 'any') return [[unanswered]];
  const only = isTcp ? [] : ['meta l4proto tcp'];
  const isLimit = limit !== null && limit.pps > 0;
  if (isLimit && destinationPort !== null && proxied.includes(destinationPort)) return [];
  const left = isLimit && destinationPort === null && proxied.length > 0;
  const ports = left ? [`th dport != { ${proxied.join(', ')} }`] : [];
  const again = [...only, ...ports, 'ct state established', BARE_SYN];
  if (!left || isTcp) return [[...ports, unanswered], again];
  return [['meta l4proto != tcp', unanswered], [...only, ...ports, unanswered], again];
}

const BARE_SYN = 'tcp flags & (fin | syn | rst | ack) == syn';

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
function limitMatch(ref: string, { per, pps }: MitigationLimit, family: Family): string {
  if (!Number.isSafeInteger(pps) || pps < 0) throw new PolicyError(`${ref} has no whole limit`);
  const ip = IP[family];
  const key = [
    // All addresses of an attacked prefix share one element, whichever chain evaluates them.
    per === 'attack' ? NO_ADDRESS[family] : `${ip} daddr`,
    ...(per === 'source' ? [`${ip} saddr`] : []),
    ...numberOf(`${ref} ${pps}`),
  ].join(' . ');
  const set = stateSet(per === 'source' ? 'mitigated_source' : 'mitigated_destination', family);
  return `update @${set} { ${key} limit rate over ${pps}/second burst ${pps} packets }`;
}

const NO_ADDRESS: Readonly<Record<Family, string>> = { 4: '0.0.0.0', 6: '::' };

/**
 * A number for a mitigation and its rate, because an element keeps its initial rate. Only mitigations of the same
 * address, or of any attacked prefix, could collide, with a probability of 2^-32.
 */
function numberOf(text: string): [number, number] {
  const digest = createHash('sha256').update(text).digest();
  return [digest.readUInt16BE(0), digest.readUInt16BE(2)];
}
