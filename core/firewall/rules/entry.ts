import type { Family } from '../../net/address.ts';
import { countPorts, expandPorts, type PortRange } from '../../net/ports.ts';
import { familyOf, type NamedPort, type RuleContent, type WantedRule } from './content.ts';
import { type MarkField, type MarksEntry, readMarks, type ReadMarks } from './marks.ts';
import { parseRule, type RuleField } from './parse.ts';

/** A rule as requests and files write it, before anything is checked but JSON types. */
export interface RuleEntry extends MarksEntry {
  readonly action: string;
  readonly protocol: string;
  /** A port expression; null or absent: any port. */
  readonly destination_port?: string | null | undefined;
  /** The port by its name, in place of `destination_port` or beside its present number. */
  readonly namedPort?: NamedPort | null;
  readonly source_ip?: string | null | undefined;
}

export interface EntryTerms {
  /** Null for a group, which may stand on addresses of both families. */
  readonly family: Family | null;
  /** The most ports of one entry; absent: the reader counts them. */
  readonly maxPorts?: number;
  readonly now: Date;
}

/** An entry before it is expanded to one rule a port. */
export interface ReadEntry extends ReadMarks {
  readonly rule: Omit<RuleContent, 'port'>;
  /** Null is any port, or one that only a name names: one rule. */
  readonly ports: readonly PortRange[] | null;
}

export type EntryRefusal<Field> = {
  readonly ok: false;
  readonly field: Field;
  readonly reason: string;
};
export type EntryOutcome =
  | { readonly ok: true; readonly value: ReadEntry }
  | EntryRefusal<RuleField | MarkField>;

/** Whether the text names a port: a port expression has no colon. */
export function isPortName(text: string): boolean {
  return text.includes(':');
}

/** The name of a port, such as `Survival:query`; null for a port expression. The name of a server may have colons. */
export function parsePortName(text: string): Required<NamedPort> | null {
  const at = text.lastIndexOf(':');
  return at === -1 ? null : { server: text.slice(0, at), name: text.slice(at + 1), shown: text };
}

/** Reads a rule of an address, a group or the operator. */
export function readEntry(
  entry: RuleEntry,
  { family, maxPorts = Infinity, now }: EntryTerms,
): EntryOutcome {
  const { destination_port: port = null, source_ip: text = null, namedPort = null } = entry;
  const own = family ?? familyOf(text);
  const isNamed = namedPort !== null && port === null;
  // Any number shows whether the protocol has ports.
  const destinationPort = isNamed ? '1' : port;
  const input = { action: entry.action, protocol: entry.protocol, destinationPort, source: text };
  const parsed = parseRule(input, own);
  if (!parsed.ok) return parsed;
  const { action, protocol, source, ports } = parsed.value;
  if (family === null && text !== null && source === null) {
    // On an address of the other family it would match nothing, while no source matches any.
    const reason = `${text} is all of IPv${own}, and a group may stand on addresses of both families. Leave source_ip out to mean any source.`;
    return refuse('source_ip', reason);
  }
  const count = ports === null ? 1 : countPorts(ports);
  if (count > maxPorts) {
    const reason = `This names ${count} ports, and at most ${maxPorts} are allowed in one rule.`;
    return refuse('destination_port', reason);
  }
  const marks = readMarks(entry, count, now);
  if (!marks.ok) return marks;
  const rule = { action, protocol, source, ...(namedPort !== null && { namedPort }) };
  return { ok: true, value: { rule, ports: isNamed ? null : ports, ...marks.value } };
}

/** The rules of an entry, one a port. */
export function expandEntry({ rule, ports, marks }: ReadEntry): WantedRule[] {
  if (ports === null) return [{ ...rule, port: null, ...marks }];
  return expandPorts(ports).map((port) => ({ ...rule, port, ...marks }));
}

function refuse<Field>(field: Field, reason: string): EntryRefusal<Field> {
  return { ok: false, field, reason };
}
