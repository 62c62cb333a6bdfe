import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { Db } from '../../db/database.ts';

/** What waits when nobody takes it: of more, the newest is thrown away, as agents do. */
const MAX_WAITING = 2_000;
const BATCH = 256;
/** Older samples say nothing of now. */
const STALE_SECONDS = 2;

export interface Relayed {
  readonly from: AgentRef;
  readonly message: WatchSamples;
}

/** Hands what an agent counted to whichever control plane judges. False: none does, or it is far behind. */
export async function relaySamples(db: Db, { from, message }: Relayed): Promise<boolean> {
  const { rows } = await sql`
    with told as (
      insert into watch_relay (kind, name, message)
      select ${from.kind}, ${from.name}, ${JSON.stringify(message)}
       where (select count(*) from (select from watch_relay limit ${MAX_WAITING}) w) < ${MAX_WAITING}
         and exists (select from attack_judge where judge is not null and until > now())
      returning 1)
    select pg_notify('portcullis_samples', '') from told`.execute(db);
  return rows.length > 0;
}

/** What was handed on since, oldest first; some of it, when it is much. */
export async function takeRelayed(db: Db): Promise<{ relayed: Relayed[]; more: boolean }> {
  const { rows } = await sql<{ kind: string; name: string; message: string; fresh: boolean }>`
    with taken as (
      delete from watch_relay where id in (
        select id from watch_relay order by id limit ${BATCH} for update skip locked)
      returning *)
    select kind, name, message,
           told_at > clock_timestamp() - ${STALE_SECONDS} * interval '1 second' as fresh
      from taken order by id`.execute(db);
  const relayed = rows
    .filter(({ fresh }) => fresh)
    .map(({ kind, name, message }) => ({
      from: { kind: kind === 'edge' ? ('edge' as const) : ('collector' as const), name },
      // Checked when the agent told it.
      message: JSON.parse(message) as WatchSamples,
    }));
  return { relayed, more: rows.length === BATCH };
}
