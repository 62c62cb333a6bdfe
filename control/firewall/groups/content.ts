import type { Family } from '@portcullis/core/net/address.ts';
import { parseCidr, formatCidr, wholeFamily } from '@portcullis/core/net/cidr.ts';
import { countPorts, expandPorts } from '@portcullis/core/net/ports.ts';
import { parseRule } from '@portcullis/core/firewall/rule.ts';
import type { RuleAction, RuleProtocol } from '../../db/schema.ts';
import { familyOf, type RuleContent } from '../objects.ts';

export {
  type FilterContent,
  filterKey,
  type NamedPort,
  type RuleContent,
  ruleIdentity,
  ruleKey,
} from '../objects.ts';

/** A rule as callers and the fleet file write it. */
export interface RuleText {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  readonly destinationPort: string | null;
  readonly source: string | null;
}

export type ExpandedRules =
  | { readonly ok: true; readonly value: readonly RuleContent[] }
  | { readonly ok: false; readonly field: string; readonly reason: string };

/**
 * Expands a rule to one per port.
 * `family` is null for a group, which accepts sources of either family, but not a whole family: on an address of the
 * other family such a rule would match nothing, while no source matches any.
 */
export function expandRule(text: RuleText, family: Family | null, maxPorts: number): ExpandedRules {
  const own = family ?? familyOf(text.source);
  const parsed = parseRule(text, own);
  if (!parsed.ok) return parsed;
  const { action, protocol, ports } = parsed.value;
  if (family === null && text.source !== null && parsed.value.source === null) {
    const reason = `${text.source} is all of IPv${own}, and a group may stand on addresses of both families. Leave source_ip out to mean any source.`;
    return { ok: false, field: 'source_ip', reason };
  }
  const source = storedSource(parsed.value.source);
  if (ports === null) return { ok: true, value: [{ action, protocol, source, port: null }] };
  const count = countPorts(ports);
  if (count > maxPorts) {
    const reason = `This names ${count} ports, and at most ${maxPorts} are allowed in one rule.`;
    return { ok: false, field: 'destination_port', reason };
  }
  return {
    ok: true,
    value: expandPorts(ports).map((port) => ({ action, protocol, source, port })),
  };
}

function storedSource(source: string | null): string | null {
  if (source === null) return null;
  const parsed = parseCidr(source);
  if (!parsed.ok) throw new Error(`a parsed rule has the source ${source}: ${parsed.reason}`);
  return wholeFamily(parsed.value) ? null : formatCidr(parsed.value);
}

/** `deny udp 19 from 192.0.2.0/24`, for people. */
export function describeRule(rule: RuleContent): string {
  const port = rule.port === null ? '' : ` ${rule.port}`;
  return `${rule.action} ${rule.protocol}${port}${rule.source === null ? '' : ` from ${rule.source}`}`;
}

/** A rule with a source of the other family does not apply to an address. */
export function appliesTo(rule: RuleContent, family: Family): boolean {
  return rule.source === null || familyOf(rule.source) === family;
}
