import { type RawBuilder, sql } from 'kysely';

/**
 * A declared moment as text, `2026-11-21T02:00:00+00:00`, with its milliseconds where it has any: cut to the second, a
 * holding would begin and end before its time, and a change of nothing would move it.
 */
export function momentText(moment: Date): string {
  return moment.toISOString().replace(/(\.000)?Z$/, '+00:00');
}

/** The same text by PostgreSQL. */
export function momentTextOf(time: RawBuilder<unknown>): RawBuilder<string | null> {
  return sql`replace(to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'), '.000+', '+')`;
}
