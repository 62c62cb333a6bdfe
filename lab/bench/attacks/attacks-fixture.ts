import { sql } from 'kysely';
import type { Db, Tx } from '@portcullis/control/db/database.ts';
import { sweepAttacks } from '@portcullis/control/attacks/detection/index.ts';
import { ensurePartitions } from '@portcullis/control/attacks/detection/record/partitions.ts';

export const ATTACKS = 10_000_000;
const ORGANISATIONS = 1_000;
const DAYS = 90;
const BATCH = 500_000;

/**
 * Ten million attacks over 90 days: a tenth of them on one organisation's /16, the others on a /24 of each of 999;
 * most last minutes, one in a thousand hours, some go on.
 */
export async function fillAttacks(db: Db, say: (line: string) => void): Promise<void> {
  const now = Date.now();
  for (let days = DAYS; days >= 0; days -= 20) {
    await ensurePartitions(db, new Date(now - days * 86_400_000), 0);
  }
  await sweepAttacks(db);
  await fillHoldings(db);
  const indexes = await takeIndexes(db);
  for (let from = 1; from <= ATTACKS; from += BATCH) {
    await unhurried(db, (tx) => fillBatch(tx, from));
    say(`${Math.min(ATTACKS, from + BATCH - 1)} attacks`);
  }
  for (const index of indexes) await unhurried(db, (tx) => sql.raw(index).execute(tx));
  await sql`update attack_revision set revision = ${ATTACKS}`.execute(db);
  say('indexes are made');
  // As its own housekeeping leaves it.
  await db.connection().execute(async (one) => {
    await sql`set statement_timeout = 0`.execute(one);
    await sql`vacuum (analyze) attacks`.execute(one);
  });
}

/** The pool's statements end after 30 s; filling takes longer. */
async function unhurried(db: Db, work: (tx: Tx) => Promise<unknown>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx);
    await work(tx);
  });
}

async function fillHoldings(db: Db): Promise<void> {
  await sql`
    insert into organisations (slug, name, flags, owner)
    select 'org-' || n, 'Organisation ' || n, '{attack_history_api}', 'portal'
      from generate_series(1, ${ORGANISATIONS}::int) n`.execute(db);
  await sql`
    insert into asns select 64500 + id, id, 'portal' from organisations`.execute(db);
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    select id, case when id = 1 then '10.0.0.0/16'::cidr
                    else set_masklen(('11.' || id / 256 || '.' || id % 256 || '.0')::inet, 24)::cidr end,
           tstzrange(now() - interval '1 year', null), 64500 + id, 'portal'
      from organisations order by id`.execute(db);
}

/** Their definitions; filling without them and making them at the end takes half the time. */
async function takeIndexes(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select c.relname as name, pg_get_indexdef(i.indexrelid) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'attacks'::regclass and not i.indisprimary`.execute(db);
  for (const { name } of rows) await sql.raw(`drop index ${name}`).execute(db);
  // As if for the table alone, they would wait for each partition's.
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
}

async function fillBatch(tx: Tx, from: number): Promise<void> {
  await sql`
    insert into attacks (id, revision, organisation_id, holding_id, subject, prefix, attack_type,
                         peak_pps, peak_bps, started_at, mitigated_at, ended_at)
    select n, n, h.organisation_id, h.id, set_masklen(h.cidr::inet + host, 32)::cidr, h.cidr,
           (array['udp_flood', 'tcp_syn_flood', 'dns_amplification', 'multi_vector'])[1 + n % 4],
           20000 + host * 100, 1000000000 + host * 1000000, at, at + interval '2 s',
           case when n % 20011 = 7 then null
                when n % 1003 = 0 then at + (1 + random() * 12) * interval '1 hour'
                else at + (1 + random() * 20) * interval '1 minute' end
      from (select n, case when n % 10 = 0 then 1 else 2 + n % ${ORGANISATIONS - 1} end as organisation,
                   date_trunc('milliseconds', now() - random() * ${DAYS} * interval '1 day') as at,
                   random() as dice
              from generate_series(${from}::bigint, ${from + BATCH - 1}::bigint) n) one
      join holdings h on h.organisation_id = one.organisation
      cross join lateral (
        select floor(dice * (case when masklen(h.cidr) = 16 then 65536 else 256 end))::bigint as host) place`.execute(
    tx,
  );
}
