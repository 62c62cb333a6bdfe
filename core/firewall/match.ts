import { type Family, parseAddress } from '../net/address.ts';
import { containsAddress, parseCidr } from '../net/cidr.ts';
import type { Packet } from './packet.ts';
import type { RuleOf, RuleProtocol } from './policy.ts';

/** IP protocol numbers (IANA); ICMP is another protocol in each family. */
export const PROTOCOL_NUMBERS = { tcp: 6, udp: 17, gre: 47, esp: 50 } as const;
export const ICMP_NUMBERS: Readonly<Record<Family, number>> = { 4: 1, 6: 58 };

export function protocolNumber(protocol: Exclude<RuleProtocol, 'any'>, family: Family): number {
  return protocol === 'icmp' ? ICMP_NUMBERS[family] : PROTOCOL_NUMBERS[protocol];
}

/** A later fragment carries no ports, so no rule that names one matches it. */
export function ruleMatches(
  rule: RuleOf<'ref' | 'action' | 'protocol' | 'port' | 'source'>,
  packet: Packet,
): boolean {
  if (rule.protocol !== 'any' && protocolNumber(rule.protocol, packet.family) !== packet.protocol)
    return false;
  if (rule.port !== null && (packet.fragment === 'later' || rule.port !== packet.destinationPort))
    return false;
  return rule.source === null || networkContains(rule.source, packet.source);
}

/** Both canonical; of different families they never match. */
export function networkContains(network: string, address: string): boolean {
  const outer = parseCidr(network);
  const inner = parseAddress(address);
  return outer.ok && inner.ok && containsAddress(outer.value, inner.value);
}
