import type { Family } from '../../net/address.ts';
import { countPorts, expandPorts, type PortRange } from '../../net/ports.ts';
import {
  familyOf,
  type Marks,
  type NamedPort,
  type RuleContent,
  type WantedRule,
} from './content.ts';
import { parseRule, type RuleField, type RuleInput } from './parse.ts';

/** A rule as requests and files write it, before anything is checked but JSON types. */
export interface RuleEntry extends RuleInput, MarksEntry {
  /** The port by its name, in place of `destinationPort` or beside its present number. */
  readonly namedPort?: NamedPort | null;
}

/** The marks of a rule or a filter as they are written. Absent: as they are; null: none. */
export interface MarksEntry {
  readonly ref?: string | null | undefined;
  /** ISO 8601 with an offset. */
  readonly expiresAt?: string | null | undefined;
  readonly note?: string | null | undefined;
}

export type MarkField = 'ref' | 'expires_at' | 'note';

export interface EntryTerms {
  /** Null for a group, which may stand on addresses of both families. */
  readonly family: Family | null;
  /** The most ports of one entry; absent: the reader counts them. */
  readonly maxPorts?: number;
  readonly now: Date;
}

/** An entry before it is expanded to one rule a port. */
export interface ReadEntry {
  readonly rule: Omit<RuleContent, 'port'>;
  /** Null is any port, or one that only a name names: one rule. */
  readonly ports: readonly PortRange[] | null;
  readonly marks: Partial<Marks>;
  /** Its time is over: a request refuses it, and a file is as if it were not there. */
  readonly hasExpired: boolean;
}

export type EntryRefusal<Field> = {
  readonly ok: false;
  readonly field: Field;
  readonly reason: string;
};
export type EntryOutcome =
  | { readonly ok: true; readonly value: ReadEntry }
  | EntryRefusal<RuleField | MarkField>;

const MAX_REF = 100;
const MAX_NOTE = 2_000;

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
  const own = family ?? familyOf(entry.source);
  const { namedPort = null } = entry;
  const isNamed = namedPort !== null && entry.destinationPort === null;
  // Any number shows whether the protocol has ports.
  const parsed = parseRule(isNamed ? { ...entry, destinationPort: '1' } : entry, own);
  if (!parsed.ok) return parsed;
  const { action, protocol, source, ports } = parsed.value;
  if (family === null && entry.source !== null && source === null) {
    // On an address of the other family it would match nothing, while no source matches any.
    const reason = `${entry.source} is all of IPv${own}, and a group may stand on addresses of both families. Leave source_ip out to mean any source.`;
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

export type MarksOutcome =
  | { readonly ok: true; readonly value: Pick<ReadEntry, 'marks' | 'hasExpired'> }
  | EntryRefusal<MarkField>;

/** Reads the marks of an entry that becomes `count` objects. Ends are rounded up to whole seconds, as views show them. */
export function readMarks(
  { ref, expiresAt, note }: MarksEntry,
  count: number,
  now: Date,
): MarksOutcome {
  if (typeof ref === 'string' && (ref === '' || ref.length > MAX_REF)) {
    return refuse('ref', `a ref has 1 to ${MAX_REF} characters`);
  }
  if (typeof ref === 'string' && count > 1) {
    return refuse('ref', `names one rule, and this would become ${count}, one a port`);
  }
  if (typeof note === 'string' && note.length > MAX_NOTE) {
    return refuse('note', `a note has at most ${MAX_NOTE} characters`);
  }
  const end = typeof expiresAt === 'string' ? parseEnd(expiresAt) : expiresAt;
  if (end !== null && end !== undefined && Number.isNaN(end.getTime())) {
    return refuse('expires_at', 'is a time with its offset, such as 2027-01-01T00:00:00Z');
  }
  const marks = {
    ...(ref !== undefined && { ref }),
    ...(end !== undefined && { expiresAt: end }),
    ...(note !== undefined && { note: note === '' ? null : note }),
  };
  const hasExpired = end instanceof Date && end.getTime() <= now.getTime();
  return { ok: true, value: { marks, hasExpired } };
}

/** An invalid date for what is not a time with its offset. */
function parseEnd(text: string): Date {
  const hasOffset = /(?:Z|[+-]\d\d:\d\d)$/.test(text);
  return new Date(hasOffset ? Math.ceil(Date.parse(text) / 1_000) * 1_000 : Number.NaN);
}

function refuse<Field>(field: Field, reason: string): EntryRefusal<Field> {
  return { ok: false, field, reason };
}
