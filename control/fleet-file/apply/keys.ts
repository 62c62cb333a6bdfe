import { sql } from 'kysely';
import { KEY_PREFIX } from '@portcullis/core/access/key-format.ts';
import { hashSecret } from '../../access/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import type { DesiredKey } from '../desired.ts';

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
