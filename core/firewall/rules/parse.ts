import type { Family } from '../../net/address.ts';
import { formatNetwork, parseCidr, wholeFamily } from '../../net/cidr.ts';
import { type PortRange, parsePortExpression } from '../../net/ports.ts';
import type { RuleAction, RuleProtocol } from '../policy.ts';

export const RULE_ACTIONS: readonly RuleAction[] = ['allow', 'deny'];
export const RULE_PROTOCOLS: readonly RuleProtocol[] = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'];

/** A rule from a caller: JSON types are checked, nothing else. */
export interface RuleInput {
  readonly action: string;
  readonly protocol: string;
  /** A port expression; null is any port. */
  readonly destinationPort: string | null;
  /** An address or CIDR; null is any source. */
  readonly source: string | null;
}

/** A rule before it is expanded to one for each port. */
export interface ParsedRule {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** Canonical, a single address without its length; null is any source. */
  readonly source: string | null;
  /** Null is any port: one rule. */
  readonly ports: readonly PortRange[] | null;
}

export type RuleField = 'action' | 'protocol' | 'destination_port' | 'source_ip';

export type RuleOutcome =
  | { readonly ok: true; readonly value: ParsedRule }
  | { readonly ok: false; readonly field: RuleField; readonly reason: string };

/**
 * Validates a rule for an address of `family`: ports only with tcp and udp, a source of the same family. The whole
 * family as source means any source.
 */
export function parseRule(input: RuleInput, family: Family): RuleOutcome {
  const action = RULE_ACTIONS.find((known) => known === input.action);
  if (action === undefined)
    return refuse('action', `an action is one of ${RULE_ACTIONS.join(', ')}`);
  const protocol = RULE_PROTOCOLS.find((known) => known === input.protocol);
  if (protocol === undefined) {
    return refuse('protocol', `a protocol is one of ${RULE_PROTOCOLS.join(', ')}`);
  }
  const source = parseSource(input.source, family);
  if (!source.ok) return source;
  if (input.destinationPort === null) {
    return { ok: true, value: { action, protocol, source: source.value, ports: null } };
  }
  if (!hasPorts(protocol)) {
    return refuse(
      'destination_port',
      `${protocol} has no ports: leave the port out, or choose tcp or udp`,
    );
  }
  const ports = parsePortExpression(input.destinationPort);
  if (!ports.ok) return refuse('destination_port', ports.reason);
  return { ok: true, value: { action, protocol, source: source.value, ports: ports.value } };
}

export function hasPorts(protocol: RuleProtocol): protocol is 'tcp' | 'udp' {
  return protocol === 'tcp' || protocol === 'udp';
}

type SourceOutcome =
  | { ok: true; value: string | null }
  | { ok: false; field: RuleField; reason: string };

function parseSource(text: string | null, family: Family): SourceOutcome {
  if (text === null) return { ok: true, value: null };
  const cidr = parseCidr(text);
  if (!cidr.ok) return refuse('source_ip', cidr.reason);
  if (cidr.value.family !== family) {
    return refuse(
      'source_ip',
      `the address is IPv${family}, so its packets have IPv${family} sources: ${text.slice(0, 64)} is IPv${cidr.value.family}`,
    );
  }
  return { ok: true, value: wholeFamily(cidr.value) ? null : formatNetwork(cidr.value) };
}

function refuse(field: RuleField, reason: string): { ok: false; field: RuleField; reason: string } {
  return { ok: false, field, reason };
}
