import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { containsAddress } from '@portcullis/core/net/cidr.ts';
import { networkFrom } from '../compile/match.ts';
import { protocolName } from '../nftables/names.ts';

/** The kernel state that filters use. */
export interface FilterFacts {
  readonly validated: boolean;
  /** Connection tracking knows the TCP connection. */
  readonly established: boolean;
  /** The rates of unvalidated and validated sources, and the budget of the port, are not exceeded. */
  readonly unvalidatedWithinRate: boolean;
  readonly validatedWithinRate: boolean;
  readonly withinBudget: boolean;
}

/**
 * The verdict of a statement in a filter's chain; null if it does not match, undefined if it is not a filter
 * statement.
 */
export function evaluateFilter(
  statement: string,
  packet: Packet,
  facts: FilterFacts,
): string | null | undefined {
  const dispatch = /^meta l4proto \. th dport vmap \{ (.*) \}$/.exec(statement)?.[1];
  if (dispatch !== undefined) {
    const wanted = `${protocolName(packet.protocol)} . ${packet.destinationPort}`;
    const entries = dispatch.split(', ').map((entry) => entry.split(' : '));
    return entries.find(([key]) => key === wanted)?.[1] ?? null;
  }
  const safe = /^ip6? saddr \{ (.*) \} (accept|goto \S+)$/.exec(statement);
  if (safe !== null) {
    const [, networks = '', outcome = ''] = safe;
    return networks.split(', ').some((network) => isFrom(network, packet)) ? outcome : null;
  }
  const words = statement.split(' ');
  const verdict = words.at(-2) === 'goto' ? `goto ${words.at(-1)}` : (words.at(-1) ?? '');
  const update = /^(ct state established )?update @([a-z_]+)[46] \{/.exec(statement);
  if (update === null) {
    return / @validated[46] goto \S+$/.test(statement)
      ? facts.validated
        ? verdict
        : null
      : undefined;
  }
  if (update[1] !== undefined && !facts.established) return null;
  switch (update[2]) {
    case 'unvalidated_rate':
      return facts.unvalidatedWithinRate ? null : verdict;
    case 'validated_rate':
      return facts.validatedWithinRate ? null : verdict;
    case 'budget':
    case 'budget_prefix':
      return facts.withinBudget ? verdict : null;
    case 'validated':
      return null;
    case undefined:
    default:
      return undefined;
  }
}

export function isFrom(network: string, { source }: Packet): boolean {
  const address = parseAddress(source);
  return address.ok && containsAddress(networkFrom(network), address.value);
}
