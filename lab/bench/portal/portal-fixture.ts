import { sql } from 'kysely';
import { createKey } from '@portcullis/control/access/index.ts';
import { openDatabase } from '@portcullis/control/db/database.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';

export const ADDRESSES = 10_000;
export const RULES = 2_000;
/** The address with many rules. */
export const BUSY = '10.64.0.1';

/** An organisation with 10,000 addresses of a rule or two, one of them with 2,000. Returns a key of it. */
export async function fillPortal(databaseUrl: string): Promise<string> {
  const db = openDatabase({ url: migrationUrl(databaseUrl), poolSize: 1 });
  try {
    const { id: organisationId } = await db
      .insertInto('organisations')
      .values({
        slug: 'bench',
        name: 'Bench',
        flags: ['firewall_api', 'attack_history_api'],
        owner: 'portal',
        rules_per_ip: RULES * 2,
        requests_per_minute: 2_000_000_000,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    await sql`insert into asns (asn, organisation_id, owner) values (64500, ${organisationId}, 'portal')`.execute(
      db,
    );
    await sql`
      with holding as (
        insert into holdings (organisation_id, cidr, during, asn, owner)
        values (${organisationId}, '10.64.0.0/16', tstzrange(now() - interval '1 day', null), 64500, 'portal')
        returning id), places as (
        insert into addresses (holding_id, ip, configured)
        select holding.id, ${BUSY}::inet + n - 1, true
          from holding, generate_series(1, ${ADDRESSES}::int) n returning id, ip)
      insert into rules (address_id, action, protocol, source, port, created_generation)
      select places.id, case when n % 3 = 0 then 'deny' else 'allow' end, 'udp',
             case when n % 2 = 0 then null else ('198.51.100.' || n % 250)::cidr end, 1000 + n, 0
        from places, lateral generate_series(1, case when places.ip = ${BUSY}::inet then ${RULES}::int else 2 end) n`.execute(
      db,
    );
    await sql`analyze`.execute(db);
    const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
    const abilities = ['firewall.read', 'firewall.manage', 'attacks.read'];
    const wanted = { organisationId, name: 'bench', abilities, owner: 'portal' } as const;
    const key = await db.transaction().execute((tx) => createKey(tx, wanted, operator));
    return key.secret;
  } finally {
    await db.destroy();
  }
}
