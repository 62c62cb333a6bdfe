import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

/** After this time without a renewal another replica takes the lease; several renewals may fail. */
const LEASE_SECONDS = 3;

/** Renews the detection lease, or takes it if it expired, by the database's clock. Returns whether it is held. */
export async function renewLease(db: Db, judge: string): Promise<boolean> {
  const { rows } = await sql`
    insert into attack_judge as j (judge, until)
    values (${judge}, now() + ${LEASE_SECONDS} * interval '1 second')
        on conflict (one) do update set judge = excluded.judge, until = excluded.until
     where j.judge is null or j.judge = excluded.judge or j.until < now()
    returning 1`.execute(db);
  return rows.length > 0;
}

/** Releases the lease for the next replica, which continues the attacks. */
export async function releaseLease(db: Db, judge: string): Promise<void> {
  await sql`delete from attack_sightings where recorder = ${judge}`.execute(db);
  await sql`update attack_judge set judge = null, until = now() where judge = ${judge}`.execute(db);
}
