import type { Kept } from './difference.ts';

/** Marks that an organisation adds to a rule or a filter, without a change for edges. `/api/v1` neither shows nor changes it. */
export interface Marks {
  /** The caller's own name, unique on an address or in a group. */
  readonly ref: string | null;
  /** When it ends by itself. */
  readonly expiresAt: Date | null;
  /** Plain text. Absent: own rules of an address, whose notes are stored apart and have tags. */
  readonly note?: string | null;
}

export const NO_MARKS: Marks = { ref: null, expiresAt: null };

/** An object as JSON has it, with its end as a date. */
export function datedMarks<One extends { readonly expiresAt?: Date | null }>(one: One): One {
  return { ...one, expiresAt: one.expiresAt ? new Date(one.expiresAt) : null };
}

/** Marks as requests and files write them. Absent: as they are; null: none. */
export interface MarksEntry {
  readonly ref?: string | null | undefined;
  /** ISO 8601 with an offset. */
  readonly expires_at?: string | null | undefined;
  readonly note?: string | null | undefined;
}

export type MarkField = keyof MarksEntry;

/** Marks of what is written whole: those that are left out are none. */
export function wholeMarks({
  ref = null,
  expires_at = null,
  note = null,
}: MarksEntry): Required<MarksEntry> {
  return { ref, expires_at, note };
}

/** The marks of an object that was read, without its other members, to be sent back. Absent ones stay absent. */
export function sentMarks({ ref, expires_at }: Pick<MarksEntry, 'ref' | 'expires_at'>) {
  return { ...(ref !== undefined && { ref }), ...(expires_at !== undefined && { expires_at }) };
}

/** The marks of an object that was read. */
export function parsedMarks({
  ref,
  expires_at: ends,
}: Required<Pick<MarksEntry, 'ref' | 'expires_at'>>): Marks {
  return { ref: ref ?? null, expiresAt: ends ? new Date(ends) : null };
}

/** Marks as a request takes them. */
export function writtenMarks({ ref, expiresAt, note }: Partial<Marks>) {
  return {
    ...(ref !== undefined && { ref }),
    ...(expiresAt !== undefined && { expires_at: expiresAt && expiresAt.toISOString() }),
    ...(note !== undefined && { note }),
  };
}

export interface ReadMarks {
  readonly marks: Partial<Marks>;
  /** Its time is over: a request refuses it, and a file is as if it were not there. */
  readonly hasExpired: boolean;
}

export type MarksOutcome =
  | { readonly ok: true; readonly value: ReadMarks }
  | { readonly ok: false; readonly field: MarkField; readonly reason: string };

/** Reads the marks of an entry that becomes `count` objects. Ends are rounded up to whole seconds, as views show them. */
export function readMarks(
  { ref, expires_at: ends, note }: MarksEntry,
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
  const end = typeof ends === 'string' ? parseEnd(ends) : ends;
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

const MAX_REF = 100;
const MAX_NOTE = 2_000;

/** The last second of the years with four digits: databases and JavaScript write others, each in its own way. */
const LAST_END = Date.parse('9999-12-31T23:59:59Z');

/** An invalid date for what is not a time with its offset. */
function parseEnd(text: string): Date {
  const hasOffset = /(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const at = hasOffset ? Date.parse(text) : Number.NaN;
  const isInRange = at < LAST_END + 1_000;
  return new Date(isInRange ? Math.min(Math.ceil(at / 1_000) * 1_000, LAST_END) : Number.NaN);
}

function refuse(field: MarkField, reason: string) {
  return { ok: false, field, reason } as const;
}

/**
 * The pairs that get other marks, with those that they get. A ref that another wanted object names is taken from the one
 * that has it.
 */
export function changedMarks<Wanted extends Partial<Marks>, Stored extends Marks>(
  kept: readonly Kept<Wanted, Stored>[],
  wanted: readonly Partial<Marks>[],
): (Kept<Wanted, Stored> & { readonly marks: Marks })[] {
  const named = new Set(wanted.flatMap(({ ref }) => ref ?? []));
  return kept.flatMap((pair) => {
    const { stored } = pair;
    const ownRef = stored.ref !== null && named.has(stored.ref) ? null : stored.ref;
    const { ref = ownRef, expiresAt = stored.expiresAt, note = stored.note } = pair.wanted;
    const hasNote = stored.note !== undefined;
    const isSame =
      ref === stored.ref &&
      expiresAt?.getTime() === stored.expiresAt?.getTime() &&
      (!hasNote || note === stored.note);
    return isSame
      ? []
      : [{ ...pair, marks: { ref, expiresAt, ...(hasNote && { note: note ?? null }) } }];
  });
}

/** The marks that a rule or a filter gets in place of others: `ref "ci", until 2027-01-01T00:00:00.000Z`. */
export function describeMarks(marks: Partial<Marks>, before: Partial<Marks>): string {
  const { ref = null, expiresAt = null, note = null } = marks;
  return [
    ref === null ? 'no ref' : `ref "${ref}"`,
    expiresAt === null ? 'without an end' : `until ${expiresAt.toISOString()}`,
    ...(note === (before.note ?? null) ? [] : ['another note']),
  ].join(', ');
}
