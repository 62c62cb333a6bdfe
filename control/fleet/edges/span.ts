import { sql } from 'kysely';

/** A span of control's own clock. */
export interface Span {
  readonly since: Date;
  readonly until: Date;
}

/** The most specific holding that contains `target` and overlaps the span, if it covers the whole span. */
export const heldThroughout = (target: 'target' | 'destination', { since, until }: Span) => sql`
  cross join lateral (
    select h.id, h.during from holdings h
     where h.cidr >>= r.${sql.raw(target)} and h.during && tstzrange(${since}::timestamptz, ${until}::timestamptz, '[]')
     order by masklen(h.cidr) desc, lower(h.during) desc limit 1) held
  where held.during @> tstzrange(${since}::timestamptz, ${until}::timestamptz, '[]')`;
