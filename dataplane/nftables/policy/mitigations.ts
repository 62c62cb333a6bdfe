import { createHash } from 'node:crypto';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Mitigation, MitigationLimit, Policy } from '@portcullis/core/firewall/policy.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { formatNetwork } from '@portcullis/core/net/cidr.ts';
import { OBSERVED, ruleDrop, uncountedChain } from '../table/drop-counters.ts';
import { stateSet } from '../filters/state.ts';
import { networkFrom, PolicyError } from '../../compile/match.ts';
import { IP, protocolName } from '../names.ts';
import { networkSet, safeNetworks } from '../filters/safe-sources.ts';

/**
 * Stage 5 of one target: one rule for each mitigation, in order, which matches what it drops. The rules are in the
 * target's own chain before its other rules, so they cost nothing for other targets. Observing mitigations are in a
 * chain of their own, added by `addChain`; after one of them matches, the others are not evaluated.
 */
export function mitigationStatements(
  { mitigations }: Policy,
  family: Family,
  sees: EdgeSettings['sees'],
  addChain: (statements: readonly string[]) => string,
): string[] {
  const supported = mitigations
    // Established connections are unknown if replies take another route.
    .filter(({ limit }) => limit === null || !limit.strangersOnly || sees === 'both')
    .filter(({ safelist }) => !safeNetworks(safelist, family).some(({ length }) => length === 0));
  const statements: string[] = [];
  let observing: string[] = [];
  const addObserving = (): void => {
    if (observing.length > 0) statements.push(`jump ${addChain(observing)}`);
    observing = [];
  };
  for (const mitigation of supported) {
    const statement = statementOf(mitigation, family);
    if (mitigation.mode === 'observe') {
      observing.push(statement);
      continue;
    }
    addObserving();
    statements.push(statement);
  }
  addObserving();
  return statements;
}

function statementOf(mitigation: Mitigation, family: Family): string {
  const { protocol, sourcePort, destinationPort, fragment, limit, mode } = mitigation;
  return [
    ...sourceMatches(mitigation, family),
    ...(protocol === 'any'
      ? []
      : [`meta l4proto ${protocolName(protocolNumber(protocol, family))}`]),
    ...portMatches(mitigation, 'sport', sourcePort),
    ...portMatches(mitigation, 'dport', destinationPort),
    ...(fragment === 'later' ? [LATER_FRAGMENT[family]] : []),
    ...(limit === null ? [] : limitMatches(mitigation.ref, limit, family)),
    mode === 'enforce' ? ruleDrop('mitigated') : `goto ${uncountedChain(OBSERVED)}`,
  ].join(' ');
}

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
function limitMatches(ref: string, limit: MitigationLimit, family: Family): string[] {
  const { per, pps, strangersOnly } = limit;
  const strangers = strangersOnly ? ['ct state != established'] : [];
  if (pps === 0) return strangers;
  if (!Number.isSafeInteger(pps) || pps < 0) throw new PolicyError(`${ref} has no whole limit`);
  const ip = IP[family];
  const key = [
    // All addresses of an attacked prefix share one element, whichever chain evaluates them.
    per === 'attack' ? NO_ADDRESS[family] : `${ip} daddr`,
    ...(per === 'source' ? [`${ip} saddr`] : []),
    ...numberOf(`${ref} ${pps}`),
  ].join(' . ');
  const set = stateSet(per === 'source' ? 'mitigated_source' : 'mitigated_destination', family);
  return [
    ...strangers,
    `update @${set} { ${key} limit rate over ${pps}/second burst ${pps} packets }`,
  ];
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
