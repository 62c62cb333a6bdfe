import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { ManagedFilter } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

export interface OrganisationLimits {
  readonly rulesPerIp: number;
  readonly filtersPerIp: number;
  readonly maxPortsPerRequest: number;
  readonly attackHistoryDays: number;
  readonly configuredAddresses: number;
  readonly requestsPerMinute: number;
}

export interface OrganisationContent {
  readonly name: string;
  readonly flags: readonly string[];
  readonly limits: OrganisationLimits;
}

/** "port" in ASCII. */
const FLEET_LOCK = 0x706f7274;

/** Serialises writes to organisations, ASNs, services and holdings: of fleet files and of operators. */
export async function lockFleet(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${FLEET_LOCK})`.execute(tx);
}

/** Creates an organisation of the side that writes, or changes it; returns its id. */
export async function saveOrganisation(
  batch: Batch,
  slug: string,
  { name, flags, limits }: OrganisationContent,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into organisations (slug, name, flags, owner, rules_per_ip, filters_per_ip,
      max_ports_per_request, attack_history_days, configured_addresses, requests_per_minute)
    values (${slug}, ${name}, ${flags}::text[], ${batch.owner}, ${limits.rulesPerIp},
      ${limits.filtersPerIp}, ${limits.maxPortsPerRequest}, ${limits.attackHistoryDays},
      ${limits.configuredAddresses}, ${limits.requestsPerMinute})
    on conflict (slug) do update set name = excluded.name, flags = excluded.flags,
      rules_per_ip = excluded.rules_per_ip, filters_per_ip = excluded.filters_per_ip,
      max_ports_per_request = excluded.max_ports_per_request,
      attack_history_days = excluded.attack_history_days,
      configured_addresses = excluded.configured_addresses,
      requests_per_minute = excluded.requests_per_minute
    returning id`.execute(batch.tx);
  const [row] = rows;
  if (row === undefined) throw new Error('an insert returned no row');
  return row.id;
}

export async function saveAsn(batch: Batch, asn: number, organisationId: number): Promise<void> {
  await sql`
    insert into asns (asn, organisation_id, owner) values (${asn}, ${organisationId}, ${batch.owner})
    on conflict (asn) do update set organisation_id = excluded.organisation_id`.execute(batch.tx);
}

/** Only for a number that no holding was ever announced under. */
export async function deleteAsn(batch: Batch, asn: number): Promise<void> {
  await sql`delete from asns where asn = ${asn}`.execute(batch.tx);
}

export interface ServiceContent {
  readonly id: number;
  readonly name: string;
  readonly active: boolean;
  readonly managedFilters: readonly ManagedFilter[];
}

/** `refresh`: its managed filters changed, and so did the policies of its addresses. */
export async function saveService(
  batch: Batch,
  { id, name, active, managedFilters }: ServiceContent,
  organisationId: number,
  refresh: boolean,
): Promise<void> {
  await sql`
    insert into services (id, organisation_id, name, active, managed_filters, owner)
    values (${id}, ${organisationId}, ${name}, ${active}, ${JSON.stringify(managedFilters)}::jsonb,
            ${batch.owner})
    on conflict (id) do update set name = excluded.name, active = excluded.active,
      managed_filters = excluded.managed_filters`.execute(batch.tx);
  if (!refresh) return;
  const { rows } = await sql<{ cidr: string }>`
    select cidr from holdings where service_id = ${id}`.execute(batch.tx);
  batch.touch(...rows.map(({ cidr }) => cidr));
}

/** For a service that addresses were held for: their history keeps it. */
export async function closeService(batch: Batch, id: number): Promise<void> {
  await sql`update services set active = false where id = ${id}`.execute(batch.tx);
}

export async function deleteService(batch: Batch, id: number): Promise<void> {
  await sql`delete from services where id = ${id}`.execute(batch.tx);
}

const SCOPES = { organisation: 'organisations', service: 'services', holding: 'holdings' } as const;

/** What has settings of its own for detection. */
export type DetectionScope = keyof typeof SCOPES;

/** Saves the settings of one row. A trigger notifies listeners (`portcullis_holdings`). */
export async function saveDetection(
  tx: Tx,
  scope: DetectionScope,
  id: number,
  detection: ScopeSettings,
): Promise<void> {
  await sql`
    update ${sql.table(SCOPES[scope])} set detection = ${JSON.stringify(detection)}::jsonb
     where id = ${id}`.execute(tx);
}
