import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';

/** The most waiting samples; beyond it new ones are dropped. */
const MAX_WAITING = 2_000;
const BATCH = 256;
/** Older samples are dropped. */
const STALE_SECONDS = 2;

export interface ForwardedSamples {
  readonly from: AgentRef;
  readonly message: WatchSamples;
}

/** Forwards samples to the replica with the lease. False if there is none or it is far behind. */
export async function forwardSamples(
  db: Db,
  { from, message }: ForwardedSamples,
): Promise<boolean> {
  const { rows } = await sql`
    with forwarded as (
      insert into relayed_samples (kind, name, message)
      select ${from.kind}, ${from.name}, ${JSON.stringify(message)}
       where (select count(*) from (select from relayed_samples limit ${MAX_WAITING}) w) < ${MAX_WAITING}
         and exists (select from detector_lease where holder is not null and expires_at > now())
      returning 1)
    select pg_notify('portcullis_samples', '') from forwarded`.execute(db);
  return rows.length > 0;
}

/** The forwarded samples, oldest first, in batches. */
export async function takeForwarded(
  db: Db,
): Promise<{ relayed: ForwardedSamples[]; more: boolean }> {
  const { rows } = await sql<{ kind: string; name: string; message: string; fresh: boolean }>`
    with taken as (
      delete from relayed_samples where id in (
        select id from relayed_samples order by id limit ${BATCH} for update skip locked)
      returning *)
    select kind, name, message,
           relayed_at > clock_timestamp() - ${STALE_SECONDS} * interval '1 second' as fresh
      from taken order by id`.execute(db);
  const relayed = rows
    .filter(({ fresh }) => fresh)
    .map(({ kind, name, message }) => ({
      from: { kind: kind === 'edge' ? ('edge' as const) : ('collector' as const), name },
      // Validated when the agent sent it.
      message: JSON.parse(message) as WatchSamples,
    }));
  return { relayed, more: rows.length === BATCH };
}
