import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';

/** After this time without a renewal another replica takes the lease; several renewals may fail. */
const LEASE_SECONDS = 3;

/** Renews the detection lease, or takes it if it expired, by the database's clock. Returns whether it is held. */
export async function renewLease(db: Db, holder: string): Promise<boolean> {
  const { rows } = await sql`
    insert into detector_lease as l (holder, expires_at)
    values (${holder}, now() + ${LEASE_SECONDS} * interval '1 second')
        on conflict (one) do update set holder = excluded.holder, expires_at = excluded.expires_at
     where l.holder is null or l.holder = excluded.holder or l.expires_at < now()
    returning 1`.execute(db);
  return rows.length > 0;
}

/** Releases the lease for the next replica, which continues the attacks. */
export async function releaseLease(db: Db, holder: string): Promise<void> {
  await sql`delete from attack_sightings where recorder = ${holder}`.execute(db);
  await sql`update detector_lease set holder = null, expires_at = now() where holder = ${holder}`.execute(
    db,
  );
}
