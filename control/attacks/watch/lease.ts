import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

/** Not renewed for so long, another control plane judges: several renewals may fail. */
const LEASE_SECONDS = 3;

/** Renews the right to judge, or takes it where nobody has it. Whether it is had, by the database's clock. */
export async function renewLease(db: Db, judge: string): Promise<boolean> {
  const { rows } = await sql`
    insert into attack_judge as j (judge, until)
    values (${judge}, now() + ${LEASE_SECONDS} * interval '1 second')
        on conflict (one) do update set judge = excluded.judge, until = excluded.until
     where j.judge is null or j.judge = excluded.judge or j.until < now()
    returning 1`.execute(db);
  return rows.length > 0;
}

/** For whoever comes next, at once; who also goes on with the attacks that were seen here. */
export async function releaseLease(db: Db, judge: string): Promise<void> {
  await sql`delete from attack_sightings where recorder = ${judge}`.execute(db);
  await sql`update attack_judge set judge = null, until = now() where judge = ${judge}`.execute(db);
}
