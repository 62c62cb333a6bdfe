import { type RawBuilder, sql } from 'kysely';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Caller } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { type Reach, type VisibleHolding, sinceHeld, storedCidr } from './visible-attacks.ts';
import type { AttackWindow } from './window.ts';

/** The state of the history. */
export interface Clock {
  readonly revision: number;
  /** The oldest revision that a snapshot can show. */
  readonly prunedRevision: number;
  /** The signing secret of snapshots. */
  readonly snapshotKey: string;
}

/** The state of the history, and what the caller may see of it, in one statement. */
export async function loadView(
  db: Db | Tx,
  caller: Caller,
): Promise<{ readonly clock: Clock; readonly reach: Reach }> {
  const { organisationId, prefixes } = caller;
  const { rows } = await sql<
    Clock & { readonly holdings: readonly HoldingText[]; readonly carved: readonly string[] }
  >`
    select revision, pruned_revision as "prunedRevision", snapshot_key as "snapshotKey",
           (select coalesce(json_agg(json_build_object(
                     'id', h.id, 'cidr', h.cidr, 'asn', h.asn, 'since', lower(h.during))), '[]')
              from holdings h left join services s on s.id = h.service_id
             where h.organisation_id = ${organisationId} and h.during @> statement_timestamp()
               and (s.id is null or s.active)
               and (${prefixes}::cidr[] is null or h.cidr && any(${prefixes}::cidr[]))) as holdings,
           (select coalesce(json_agg(distinct c.cidr::text), '[]')
              from holdings h join holdings c on c.cidr << h.cidr
             where h.organisation_id = ${organisationId} and h.during @> statement_timestamp()
               and c.during @> statement_timestamp()) as carved
      from attack_revision`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('attack_revision has no row');
  const { holdings, carved, ...clock } = row;
  return {
    clock,
    reach: {
      organisationId,
      holdings: holdings.map(({ cidr, since, ...holding }) => {
        return { ...holding, cidr: storedCidr(cidr), since: new Date(since) };
      }),
      carved: carved.map(storedCidr),
      // An invalid one would allow nothing.
      bounds:
        prefixes?.flatMap((text) => {
          const bound = parseCidr(text);
          return bound.ok ? [bound.value] : [];
        }) ?? null,
    },
  };
}

interface HoldingText {
  readonly id: number;
  readonly cidr: string;
  readonly asn: number | null;
  readonly since: string;
}

export interface AttackRow {
  readonly id: number;
  readonly destination: string;
  readonly prefix: string;
  readonly type: string;
  readonly peakPps: number;
  readonly peakBps: number;
  readonly startedAt: Date;
  readonly mitigatedAt: Date | null;
  readonly endedAt: Date | null;
}

export const ATTACK_COLUMNS = sql.raw(
  `a.id, host(a.subject) as destination, a.prefix::text as prefix, a.attack_type as type,
   a.peak_pps as "peakPps", a.peak_bps as "peakBps", a.started_at as "startedAt",
   a.mitigated_at as "mitigatedAt", a.ended_at as "endedAt"`,
);

/** The rows of a list: visible to the caller, as of one revision, overlapping the window. */
export interface Listed {
  readonly holdings: readonly VisibleHolding[];
  /** The condition `withinReach`. */
  readonly reach: RawBuilder<unknown>;
  readonly window: AttackWindow;
  readonly revision: number;
  readonly ongoing: boolean;
}

/**
 * A part of a list that one index covers. Every attack of a part started after every attack of the next. Attacks that
 * started long before the window are searched in the index of long attacks.
 */
type Part = RawBuilder<unknown>;

const LONG_MS = 3_600_000;
/** The expression of the index. */
const LONG = sql.raw(`(a.ended_at is null or a.ended_at - a.started_at > interval '1 hour')`);

/** The same: an ongoing attack ends after everything. */
const ENDS = sql.raw(`coalesce(a.ended_at, 'infinity'::timestamptz)`);

export function partsOf(listed: Listed): readonly Part[] {
  const { holdings, reach, window, revision, ongoing } = listed;
  const { from, to } = window;
  const common = sql`${reach} and a.revision <= ${revision} and a.until_revision > ${revision}`;
  const always = sinceHeld(holdings, 'all');
  if (ongoing) {
    return [
      sql`${common} and a.ended_at is null and ${ENDS} = 'infinity' and a.started_at <= ${to} and ${always}`,
    ];
  }
  const reaches = sql`(a.ended_at is null or a.ended_at >= ${from})`;
  const before = new Date(from.getTime() - LONG_MS);
  const since = sinceHeld(holdings, before);
  return [
    sql`${common} and a.started_at >= ${before} and a.started_at <= ${to} and ${reaches} and ${since}`,
    sql`${common} and a.started_at < ${before} and ${LONG} and ${ENDS} >= ${from} and ${always}`,
  ];
}

/** A prefix for statements that must be planned for their values: it keeps them unnamed. */
const PLANNED_ANEW = sql.raw('/* planned anew */');

export async function countParts(db: Db, parts: readonly Part[]): Promise<readonly number[]> {
  if (parts.length === 0) return [];
  const counts = parts.map((part) => sql`(select count(*) from attacks a where ${part})`);
  const { rows } = await sql<{ counts: number[] }>`
    ${PLANNED_ANEW} select array[${sql.join(counts)}] as counts`.execute(db);
  return rows[0]?.counts ?? [];
}

export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** Newest first. The rows are found in the index alone, and only the shown ones are fetched. */
export async function loadSlice(
  db: Db,
  part: Part,
  count: number,
  { offset, limit }: Slice,
): Promise<AttackRow[]> {
  const rows = Math.min(limit, count - offset);
  if (rows <= 0) return [];
  // From the nearer end.
  const fromEnd = count - offset - rows;
  const backwards = fromEnd < offset;
  const direction = sql.raw(backwards ? 'asc' : 'desc');
  const { rows: found } = await sql<AttackRow>`
    ${PLANNED_ANEW} with page as materialized (
      select a.id, a.revision, a.started_at from attacks a where ${part}
       order by a.started_at ${direction}, a.id ${direction}
       limit ${rows} offset ${backwards ? fromEnd : offset}
    )
    select ${ATTACK_COLUMNS} from page p join attacks a
        on a.id = p.id and a.revision = p.revision and a.started_at = p.started_at
     order by a.started_at desc, a.id desc`.execute(db);
  return found;
}
