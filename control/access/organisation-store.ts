import { FLAGS } from '@portcullis/core/access/abilities.ts';
import type { Db, Organisation, Tx } from '../db/database.ts';
import type { OrganisationView } from './caller.ts';

/** Every organisation, by slug. */
export async function listOrganisations(db: Db | Tx): Promise<OrganisationView[]> {
  const rows = await db.selectFrom('organisations').selectAll().orderBy('slug').execute();
  return rows.map(toOrganisationView);
}

/** The organisation of this slug, or null. */
export async function findOrganisation(
  db: Db | Tx,
  slug: string,
): Promise<OrganisationView | null> {
  const row = await db
    .selectFrom('organisations')
    .selectAll()
    .where('slug', '=', slug)
    .executeTakeFirst();
  return row === undefined ? null : toOrganisationView(row);
}

export function toOrganisationView(row: Organisation): OrganisationView {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    flags: new Set(FLAGS.filter((flag) => row.flags.includes(flag))),
    limits: {
      rulesPerIp: row.rules_per_ip,
      filtersPerIp: row.filters_per_ip,
      maxPortsPerRequest: row.max_ports_per_request,
      attackHistoryDays: row.attack_history_days,
      configuredAddresses: row.configured_addresses,
      requestsPerMinute: row.requests_per_minute,
    },
  };
}
