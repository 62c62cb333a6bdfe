import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { Actor } from './audit.ts';

/** For tests: an organisation with an ASN of its own. */
export interface TestOrganisation {
  readonly id: number;
  readonly asn: number;
}

export const OPERATOR: Actor = {
  kind: 'operator',
  name: 'a test',
  source: null,
  requestId: null,
};

export async function addOrganisation(
  db: Db,
  slug: string,
  flags: string[] = ['firewall_api'],
): Promise<TestOrganisation> {
  const { id } = await db
    .insertInto('organisations')
    .values({ slug, name: slug, flags, owner: 'portal' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const asn = 64_500 + id;
  await db.insertInto('asns').values({ asn, organisation_id: id, owner: 'portal' }).execute();
  return { id, asn };
}

/** Announces a prefix from `since` until `until` (SQL literals; null: open). Returns the holding's id. */
export async function addHolding(
  db: Db,
  of: TestOrganisation,
  cidr: string,
  since: string = '2026-01-01',
  until: string | null = null,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into holdings (organisation_id, cidr, during, asn, owner)
    values (${of.id}, ${cidr}::cidr, tstzrange(${since}::timestamptz, ${until}::timestamptz), ${of.asn}, 'portal')
    returning id`.execute(db);
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('nothing was inserted');
  return id;
}
