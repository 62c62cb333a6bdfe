import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/**
 * Takes servers from the people and keys of their former organisation: guests, open invitations, and what keys see. The log
 * of what was done with them names its people, so it goes too; the audit trail of each organisation keeps its own.
 */
export async function handOver(tx: Tx, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return;
  const servers = sql`any(${uuids}::uuid[])`;
  await sql`delete from server_people where server = ${servers}`.execute(tx);
  await sql`delete from portal_links where server = ${servers}`.execute(tx);
  await sql`delete from server_activity where server = ${servers}`.execute(tx);
  for (const column of ['servers', 'managed_servers'] as const) {
    await sql`
      update api_keys
         set ${sql.ref(column)} = array(select unnest(${sql.ref(column)}) except select unnest(${uuids}::uuid[]))
       where ${sql.ref(column)} && ${uuids}::uuid[]`.execute(tx);
  }
}
