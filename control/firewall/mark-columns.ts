import { type RawBuilder, sql } from 'kysely';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';
import type { Tx } from '../db/database.ts';

/** Each mark as a column of `rules`, `group_rules` and `group_filters`, as a member of JSON, and its type. */
const MARKS = [
  ['ref', 'ref', 'text'],
  ['expires_at', 'expiresAt', 'timestamptz'],
  ['note', 'note', 'text'],
] as const;

const listed = (each: (mark: (typeof MARKS)[number]) => string): RawBuilder<unknown> =>
  sql.raw(MARKS.map(each).join(', '));

/** The columns of an insert. */
export const MARK_COLUMNS = listed(([column]) => column);
/** The members of a JSON record. */
export const MARKS_RECORD = listed(([, member, type]) => `"${member}" ${type}`);
/** Assignments of an update from the record `n`. */
export const SET_MARKS = listed(([column, member]) => `${column} = n."${member}"`);

/** The values of a table. */
export function marksOfTable(alias: string): RawBuilder<unknown> {
  return listed(([column]) => `${alias}.${column}`);
}

/** The values of a table, named as members. */
export function selectedMarks(alias: string): RawBuilder<unknown> {
  return listed(([column, member]) => `${alias}.${column} as "${member}"`);
}

/** The values of a JSON record. */
export function marksOfRecord(alias: string): RawBuilder<unknown> {
  return listed(([, member]) => `${alias}."${member}"`);
}

/** The arguments of `json_build_object`. */
export function marksAsJson(alias: string): RawBuilder<unknown> {
  return listed(([column, member]) => `'${member}', ${alias}.${column}`);
}

/** Wakes what ends rules at their time. */
export async function wakeExpiry(tx: Tx, marks: readonly Partial<Marks>[]): Promise<void> {
  if (marks.every(({ expiresAt = null }) => expiresAt === null)) return;
  await sql`select pg_notify('portcullis_holdings', '')`.execute(tx);
}
