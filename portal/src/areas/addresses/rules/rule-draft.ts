import type { AcceptedRule, NotedRule, RuleInput } from '@portcullis/client/index.ts';
import { sentMarks } from '@portcullis/core/firewall/rules/marks.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { countPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import type { Explained } from '../../../components/forms/ExplainedField.tsx';
import { messages } from '../../../messages/index.ts';

export const PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The values of the form, as typed. */
export interface RuleDraft {
  readonly action: 'allow' | 'deny';
  readonly protocol: Protocol;
  readonly ports: string;
  readonly source: string;
}

export const EMPTY_DRAFT: RuleDraft = { action: 'allow', protocol: 'tcp', ports: '', source: '' };

const text = messages.rules;
const MAX_SHOWN = 4;

export function hasPorts(protocol: string): boolean {
  return protocol === 'tcp' || protocol === 'udp';
}

/** Explains a port expression, or why it means nothing, by the parser that the service uses. */
export function explainPorts(expression: string): Explained {
  if (expression.trim() === '') return { isValid: true, text: text.anyPort };
  const ranges = parsePortExpression(expression);
  if (!ranges.ok) return { isValid: false, text: ranges.reason };
  const shown = ranges.value
    .slice(0, MAX_SHOWN)
    .map(({ low, high }) => (low === high ? String(low) : `${low}–${high}`));
  const more = ranges.value.length - shown.length;
  return { isValid: true, text: text.ports(countPorts(ranges.value), shown.join(', '), more) };
}

/** The number of rules that a draft makes: one a port. */
export function countRules({ protocol, ports }: RuleDraft): number {
  if (!hasPorts(protocol) || ports.trim() === '') return 1;
  const ranges = parsePortExpression(ports);
  return ranges.ok ? countPorts(ranges.value) : 0;
}

/** Whether a source can be one of this address, or of a group (null): the same family, no host bits. */
export function explainSource(source: string, ip: string | null): Explained {
  const typed = source.trim();
  if (typed === '') return { isValid: true, text: text.anySource };
  const own = ip === null ? null : parseAddress(ip);
  const cidr = parseCidr(typed);
  if (!cidr.ok) return { isValid: false, text: cidr.reason };
  if (own?.ok === true && own.value.family !== cidr.value.family) {
    return { isValid: false, text: text.otherFamily(own.value.family) };
  }
  return { isValid: true, text: typed.includes('/') ? text.network(typed) : text.host(typed) };
}

export function inputOf({ action, protocol, ports, source }: RuleDraft): RuleInput {
  return {
    action,
    protocol,
    destination_port: hasPorts(protocol) && ports.trim() !== '' ? ports.trim() : null,
    source_ip: source.trim() === '' ? null : source.trim(),
  };
}

/** Inputs that make deleted rules again: those which differ only in their port become one. */
export function inputsOf(rules: readonly AcceptedRule[]): NotedRule[] {
  const alike = Map.groupBy(rules, ({ action, protocol, source_ip, ...rule }) =>
    JSON.stringify([action, protocol, source_ip, rule.destination_port === null, sentMarks(rule)]),
  );
  return [...alike.values()].flatMap(([first, ...rest]) => {
    if (first === undefined) return [];
    const ports = [first, ...rest].flatMap(({ destination_port }) => destination_port ?? []);
    const { action, protocol, source_ip } = first;
    const destination_port = ports.length === 0 ? null : ports.join(',');
    return [
      { action, protocol: protocol as Protocol, source_ip, destination_port, ...sentMarks(first) },
    ];
  });
}
