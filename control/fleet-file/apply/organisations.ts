import { sql } from 'kysely';
import { KEY_PREFIX } from '@portcullis/core/access/key-format.ts';
import { hashSecret } from '../../access/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { DesiredKey, DesiredService } from '../desired.ts';
import type { Change } from '../plan/change.ts';

/** `refresh`: its managed filters changed, and so did the policies of its addresses. */
export async function saveService(
  batch: Batch,
  { id, name, active, managedFilters }: DesiredService,
  organisationId: number,
  refresh: boolean,
): Promise<void> {
  await sql`
    insert into services (id, organisation_id, name, active, managed_filters, owner)
    values (${id}, ${organisationId}, ${name}, ${active}, ${JSON.stringify(managedFilters)}::jsonb, 'fleet')
    on conflict (id) do update set name = excluded.name, active = excluded.active,
      managed_filters = excluded.managed_filters
  `.execute(batch.tx);
  if (!refresh) return;
  const { rows } = await sql<{ cidr: string }>`
    select cidr from holdings where service_id = ${id}`.execute(batch.tx);
  batch.touch(...rows.map(({ cidr }) => cidr));
}

export async function endService(
  batch: Batch,
  { id, ...change }: Change<'service.close' | 'service.delete'>,
): Promise<void> {
  if (change.do === 'service.delete') {
    await sql`delete from services where id = ${id}`.execute(batch.tx);
  } else await sql`update services set active = false where id = ${id}`.execute(batch.tx);
}

/** Only for holdings that nothing refers to, or that never started, so that no history is lost. */
export async function deleteHolding(batch: Batch, id: number): Promise<void> {
  for (const table of ['rules', 'filters']) {
    await sql`
      delete from ${sql.table(table)}
       where address_id in (select id from addresses where holding_id = ${id})`.execute(batch.tx);
  }
  for (const table of ['addresses', 'group_assignments', 'geo_assignments', 'default_actions']) {
    await sql`delete from ${sql.table(table)} where holding_id = ${id}`.execute(batch.tx);
  }
  await sql`delete from holdings where id = ${id}`.execute(batch.tx);
}

/** A key that left the file is refused until the file names it again; its row and its secret stay. */
export async function suspendKey(batch: Batch, id: number): Promise<void> {
  await sql`update api_keys set suspended_at = clock_timestamp() where id = ${id}`.execute(
    batch.tx,
  );
}

export async function updateKey(batch: Batch, id: number, key: DesiredKey): Promise<void> {
  await sql`
    update api_keys set abilities = ${key.abilities}::text[], servers = ${key.servers}::uuid[], managed_servers = ${key.managedServers}::uuid[],
           prefixes = ${key.prefixes}::cidr[], sources = ${key.sources}::cidr[],
           expires_at = ${key.expiresAt}, suspended_at = null
     where id = ${id} and revoked_at is null`.execute(batch.tx);
  if (key.secret === null) return;
  const hint = key.secret.slice(KEY_PREFIX.length, KEY_PREFIX.length + 6);
  await sql`
    update api_keys set secret_hash = ${hashSecret(key.secret)}, hint = ${hint}
     where id = ${id} and revoked_at is null`.execute(batch.tx);
}
