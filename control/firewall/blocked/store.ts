import { sql } from 'kysely';
import { MAX_BLOCKED } from '@portcullis/contract/schemas/declared/blocked-list.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows, noteLock } from '../../db/locks.ts';
import { type Batch, UNSTAMPED } from '../../fleet/batch.ts';
import { touchList } from '../../fleet/policies/blocked-sets.ts';
import { Problem } from '../../problem.ts';
import { requireConfiguredLimit } from '../writes/configured.ts';

/** Where a source is blocked. Without a target, on everything that the organisation holds. */
export interface BlockedScope {
  readonly organisationId: number;
  readonly holdingId: number | null;
  /** With its length. */
  readonly target: string | null;
}

export async function countBlocked(db: Db | Tx, organisationId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from blocked_sources
     where organisation_id = ${organisationId} and deleted_generation is null`.execute(db);
  return rows[0]?.count ?? 0;
}

export interface SavedBlocked {
  readonly created: number;
  /** Blocked there already, with another note or end. */
  readonly renewed: number;
}

/**
 * Blocks CIDRs; those that the same side blocked there already get the note and the end. Throws 422 above the limit of the
 * organisation.
 */
export async function saveBlocked(
  batch: Batch,
  { organisationId, holdingId, target }: BlockedScope,
  {
    sources,
    note,
    expires,
  }: {
    readonly sources: readonly string[];
    readonly note: string;
    readonly expires: string | null;
  },
): Promise<SavedBlocked> {
  const { tx } = batch;
  // Concurrent calls of an organisation wait here, so that the limit holds.
  await lockRows(tx, 'organisations', [organisationId], 'no key update');
  const { rows } = await sql<{ id: number; isNew: boolean }>`
    insert into blocked_sources
      (organisation_id, holding_id, target, source, note, expires_at, owner, created_generation)
    select ${organisationId}, ${holdingId}::bigint, ${target}::cidr, source, ${note},
           ${expires}::timestamptz, ${batch.owner}, ${UNSTAMPED.created_generation}
      from unnest(${sources}::cidr[]) as source
    on conflict (organisation_id, holding_id, target, source) where deleted_generation is null
      do update set note = excluded.note, expires_at = excluded.expires_at
      where blocked_sources.owner = excluded.owner
        and (blocked_sources.note, blocked_sources.expires_at) is distinct from (excluded.note, excluded.expires_at)
    returning id, (xmax = 0) as "isNew"`.execute(tx);
  const created = rows.filter(({ isNew }) => isNew).map(({ id }) => id);
  const renewed = rows.length - created.length;
  // The timer that ends them sleeps until the next end that it knows.
  if (expires !== null && rows.length > 0)
    await sql`select pg_notify('portcullis_holdings', '')`.execute(tx);
  if (created.length === 0) return { created: 0, renewed };
  batch.begin('blocked_sources', created);
  const count = await countBlocked(tx, organisationId);
  if (count > MAX_BLOCKED) {
    throw new Problem(
      'limit_exceeded',
      `This would make ${count} blocked sources, and the organisation may have ${MAX_BLOCKED}. Unblock some, or block the network around them.`,
    );
  }
  await touchList(batch, { organisationId, target });
  if (target !== null) await requireConfiguredLimit(tx, organisationId);
  return { created: created.length, renewed };
}

/** Where else a source is blocked: by itself or in a network around it. */
export interface StillBlocked {
  readonly source: string;
  /** The blocked network. */
  readonly by: string;
  /** Null: everything that the organisation holds. */
  readonly target: string | null;
}
const MAX_STILL = 20;

/** The blocks of the organisation that these CIDRs are in, of those that a key bound to prefixes sees. */
export async function findStillBlocked(
  tx: Tx,
  organisationId: number,
  prefixes: readonly string[] | null,
  sources: readonly string[],
): Promise<StillBlocked[]> {
  const { rows } = await sql<StillBlocked>`
    select abbrev(s.source::inet) as source, abbrev(b.source::inet) as by, abbrev(b.target::inet) as target
      from unnest(${sources}::cidr[]) as s (source)
      join blocked_sources b on b.organisation_id = ${organisationId} and b.deleted_generation is null and b.source >>= s.source
      left join holdings h on h.id = b.holding_id
     where (h.id is null or h.during @> now())
       and (${prefixes}::cidr[] is null or b.target <<= any (${prefixes}::cidr[]))
     order by s.source, b.target nulls first, b.source limit ${MAX_STILL}`.execute(tx);
  return rows;
}

/** Unblocks CIDRs, and returns how many were blocked there. Throws 422 for those that the other side owns. */
export async function endBlocked(
  batch: Batch,
  { organisationId, holdingId, target }: BlockedScope,
  sources: readonly string[],
): Promise<number> {
  noteLock(batch.tx, 'blocked_sources');
  const { rows } = await sql<{ id: number; source: string; owner: 'portal' | 'fleet' }>`
    select id, abbrev(source::inet) as source, owner from blocked_sources
     where organisation_id = ${organisationId} and deleted_generation is null
       and holding_id is not distinct from ${holdingId}::bigint
       and target is not distinct from ${target}::cidr and source = any (${sources}::cidr[])
     order by id for update`.execute(batch.tx);
  for (const { owner, source } of rows) batch.requireOwn(owner, `The blocked source ${source}`);
  if (rows.length === 0) return 0;
  await batch.end(
    'blocked_sources',
    rows.map(({ id }) => id),
  );
  await touchList(batch, { organisationId, target });
  return rows.length;
}
