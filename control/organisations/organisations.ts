import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { sql } from 'kysely';
import type { OrganisationLimits } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { ManagedFilter } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

export interface OrganisationContent {
  readonly slug: string;
  readonly name: string;
  readonly flags: readonly string[];
  readonly limits: OrganisationLimits;
}

/** Creates organisations of the side that writes, or changes them; returns their ids, in order. */
export async function saveOrganisations(
  batch: Batch,
  contents: readonly OrganisationContent[],
): Promise<number[]> {
  const wanted = contents.map(({ limits, ...content }) => ({ ...content, ...limits }));
  const { rows } = await sql<{ id: number }>`
    insert into organisations (slug, name, flags, owner, rules_per_ip, filters_per_ip,
      max_ports_per_request, attack_history_days, configured_addresses, requests_per_minute)
    select slug, name, flags, ${batch.owner}, "rulesPerIp", "filtersPerIp", "maxPortsPerRequest",
           "attackHistoryDays", "configuredAddresses", "requestsPerMinute"
      from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as w
        (slug text, name text, flags text[], "rulesPerIp" integer, "filtersPerIp" integer,
         "maxPortsPerRequest" integer, "attackHistoryDays" integer, "configuredAddresses" integer,
         "requestsPerMinute" integer)
    on conflict (slug) do update set name = excluded.name, flags = excluded.flags,
      rules_per_ip = excluded.rules_per_ip, filters_per_ip = excluded.filters_per_ip,
      max_ports_per_request = excluded.max_ports_per_request,
      attack_history_days = excluded.attack_history_days,
      configured_addresses = excluded.configured_addresses,
      requests_per_minute = excluded.requests_per_minute
    returning id`.execute(batch.tx);
  return rows.map(({ id }) => id);
}

export interface HeldAsn {
  readonly asn: number;
  /** Null: the operator's. */
  readonly organisationId: number | null;
}

export async function saveAsns(batch: Batch, asns: readonly HeldAsn[]): Promise<void> {
  await sql`
    insert into asns (asn, organisation_id, owner)
    select asn, "organisationId", ${batch.owner}
      from jsonb_to_recordset(${JSON.stringify(asns)}::jsonb) as w (asn bigint, "organisationId" bigint)
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

export interface SavedService extends ServiceContent {
  readonly organisationId: number;
  /** Its managed filters changed, and so did the policies of its addresses. */
  readonly refresh: boolean;
}

export async function saveServices(batch: Batch, services: readonly SavedService[]): Promise<void> {
  await sql`
    insert into services (id, organisation_id, name, active, managed_filters, owner)
    select id, "organisationId", name, active, "managedFilters", ${batch.owner}
      from jsonb_to_recordset(${JSON.stringify(services)}::jsonb) as w
        (id bigint, "organisationId" bigint, name text, active boolean, "managedFilters" jsonb)
    on conflict (id) do update set name = excluded.name, active = excluded.active,
      managed_filters = excluded.managed_filters`.execute(batch.tx);
  const refreshed = services.filter(({ refresh }) => refresh).map(({ id }) => id);
  if (refreshed.length === 0) return;
  const { rows } = await sql<{ cidr: string }>`
    select cidr from holdings where service_id = any(${refreshed}::bigint[])`.execute(batch.tx);
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

/** A subject that has settings of its own for detection. */
export type DetectionScope = keyof typeof SCOPES;

export interface DetectionOfRow {
  readonly id: number;
  readonly detection: ScopeSettings;
}

/** Saves the settings of rows of one kind. A trigger notifies listeners (`portcullis_holdings`). */
export async function saveDetections(
  tx: Tx,
  scope: DetectionScope,
  settings: readonly DetectionOfRow[],
): Promise<void> {
  await sql`
    update ${sql.table(SCOPES[scope])} as row set detection = w.detection
      from jsonb_to_recordset(${JSON.stringify(settings)}::jsonb) as w (id bigint, detection jsonb)
     where row.id = w.id`.execute(tx);
}
