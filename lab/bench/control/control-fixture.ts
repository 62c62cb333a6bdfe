import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { sql } from 'kysely';
import { createKey } from '@portcullis/control/access/index.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';

export interface BenchFleet {
  readonly organisationId: number;
  readonly key: string;
  readonly rulesPerAddress: number;
  /** Filled with rules, for reading. */
  readonly addresses: readonly string[];
  /** Empty at first, for writing. */
  readonly writeAddresses: readonly string[];
  /** Empty at first, for replacing. */
  readonly replaceAddresses: readonly string[];
}

const OWN_RULES = 100;

/** An organisation with a prefix, 64 addresses of 100 rules, and a table for pgbench to insert into. */
export async function fillFleet(databaseUrl: string): Promise<BenchFleet> {
  const db = openDatabase({ url: migrationUrl(databaseUrl), poolSize: 1 });
  try {
    const { id: organisationId } = await db
      .insertInto('organisations')
      .values({
        slug: 'bench',
        name: 'Bench',
        flags: ['firewall_api'],
        owner: 'portal',
        rules_per_ip: 100_000,
        requests_per_minute: 2_000_000_000,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    await sql`insert into asns (asn, organisation_id, owner) values (64500, ${organisationId}, 'portal')`.execute(
      db,
    );
    const { rows } = await sql<{ id: number }>`
      insert into holdings (organisation_id, cidr, during, asn, owner)
      values (${organisationId}, '203.0.113.0/24', tstzrange(now(), null), 64500, 'portal') returning id`.execute(
      db,
    );
    const addresses = addressesFrom(0);
    await sql`
      with places as (
        insert into addresses (holding_id, ip, configured)
        select ${rows[0]?.id}, ip::inet, true from unnest(${addresses}::text[]) ip returning id)
      insert into rules (address_id, action, protocol, source, port, created_generation)
      select places.id, case when n % 3 = 0 then 'deny' else 'allow' end, 'udp',
             case when n % 2 = 0 then null else ('198.51.100.' || n % 250)::cidr end, 1000 + n, 0
        from places, generate_series(1, ${OWN_RULES}::int) n`.execute(db);
    await sql`create table bench_rules (like rules including all)`.execute(db);
    await sql`drop index if exists bench_rules_address_id_action_protocol_source_port_idx`.execute(
      db,
    );
    await sql`analyze`.execute(db);
    const key = await makeKey(db, organisationId);
    return {
      organisationId,
      key,
      rulesPerAddress: OWN_RULES,
      addresses,
      writeAddresses: addressesFrom(128),
      replaceAddresses: addressesFrom(192),
    };
  } finally {
    await db.destroy();
  }
}

export async function makeKey(db: Db, organisationId: number): Promise<string> {
  const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
  const abilities = ['firewall.read', 'firewall.manage'];
  const wanted = { organisationId, name: 'bench', abilities, owner: 'portal' } as const;
  const key = await db.transaction().execute((tx) => createKey(tx, wanted, operator));
  return key.secret;
}

function addressesFrom(first: number): string[] {
  return Array.from({ length: 64 }, (_, index) => `203.0.113.${first + index}`);
}

/** Addresses from 10.0.0.1 on, and the rules of each, of ten kinds. */
export const ADDRESSES = 100_000;
export const RULES = 10;
/** A statement has 30 s. */
const ADDRESSES_AT_ONCE = 5_000;

/** Ten rules of each address, a million by default, held by the organisation that holds 203.0.113.0/24. */
export async function fillAddresses(db: Db, addresses = ADDRESSES): Promise<void> {
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    select organisation_id, '10.0.0.0/8', during, asn, owner from holdings where cidr = '203.0.113.0/24'`.execute(
    db,
  );
  for (let first = 1; first <= addresses; first += ADDRESSES_AT_ONCE)
    await fillSome(db, first, Math.min(addresses, first + ADDRESSES_AT_ONCE - 1));
  await sql`analyze`.execute(db);
}

async function fillSome(db: Db, first: number, last: number): Promise<void> {
  await sql`
    with places as (
      insert into addresses (holding_id, ip, configured)
      select id, '10.0.0.0'::inet + n, true from holdings, generate_series(${first}::int, ${last}::int) n
       where cidr = '10.0.0.0/8' returning id)
    insert into rules (address_id, action, protocol, source, port, created_generation)
    select id, case when n % 3 = 0 then 'deny' else 'allow' end, case when n % 2 = 0 then 'udp' else 'tcp' end,
           case when n % 4 = 0 then ('198.51.' || (id % 250) || '.' || n)::cidr end, 1 + (id * 37 + n * 1009) % 60000, 0
      from places, generate_series(1, ${RULES}::int) n`.execute(db);
}
