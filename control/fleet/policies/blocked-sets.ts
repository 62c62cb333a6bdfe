import { sql } from 'kysely';
import { formatCidr } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Batch } from '../batch.ts';
import { storedCidr } from './assembly.ts';

/** The target of a list of blocked sources; without a target, of everything that the organisation holds. */
export interface BlockedList {
  readonly organisationId: number;
  readonly target: string | null;
}

/**
 * The lists of blocked sources as source sets: merged, canonical CIDRs with lengths, by the names in policies. `names` null
 * loads all of them; `generation` null means what is accepted.
 */
export async function loadBlockedSets(
  db: Db | Tx,
  names: readonly string[] | null,
  generation: number | null,
): Promise<Record<string, string[]>> {
  const isThere =
    generation === null
      ? sql`deleted_generation is null`
      : sql`created_generation <= ${generation} and coalesce(deleted_generation > ${generation}, true)`;
  const name = sql`blocked_set(organisation_id, holding_id, target)`;
  const { rows } = await sql<{ name: string; sources: string[] }>`
    select ${name} as name, array_agg(source) as sources from blocked_sources
     where ${isThere} and (${names}::text[] is null or ${name} = any (${names}::text[]))
     group by 1 order by 1`.execute(db);
  return Object.fromEntries(
    rows.map((row) => [row.name, mergeCidrs(row.sources.map(storedCidr)).map(formatCidr)]),
  );
}

/** Changes with every change of a list, empty without lists: the end of the version of source sets. */
export async function readBlockedVersion(tx: Tx): Promise<string> {
  const { rows } = await sql<{ changed: number | null }>`
    select max(greatest(created_generation, deleted_generation)) as changed
      from blocked_sources`.execute(tx);
  const changed = rows[0]?.changed ?? null;
  return changed === null ? '' : `-blocked-${changed}`;
}

/**
 * Marks a list as changed. While the list has sources before and after, no policy changes; sending thousands of them again
 * would take long, so only the first source and the last touch them.
 */
export async function touchList(
  batch: Batch,
  { organisationId, target }: BlockedList,
): Promise<void> {
  batch.mark();
  const { rows } = await sql<{ before: boolean; after: boolean }>`
    select coalesce(bool_or(created_generation > 0 and (deleted_generation is null or deleted_generation = 0)), false) as before,
           coalesce(bool_or(deleted_generation is null), false) as after
      from blocked_sources
     where organisation_id = ${organisationId} and target is not distinct from ${target}::cidr`.execute(
    batch.tx,
  );
  if (rows[0]?.before === rows[0]?.after) return;
  if (target !== null) return batch.touch(target);
  const { rows: held } = await sql<{ cidr: string }>`
    select cidr from holdings where organisation_id = ${organisationId} and during @> now()`.execute(
    batch.tx,
  );
  batch.touch(...held.map(({ cidr }) => cidr));
}
