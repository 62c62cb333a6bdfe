import { passedBy, type ServerAmounts } from '@portcullis/core/game-servers/quota.ts';
import { sql } from 'kysely';
import type { Reader, Tx } from '../db/database.ts';
import { Problem } from '../problem.ts';

export interface Quota {
  readonly limits: ServerAmounts;
  readonly used: ServerAmounts;
}

export interface ServiceChoice {
  readonly id: number;
  readonly name: string;
}

/** The services that may have servers of the organisation's own, by id. */
export async function listServices(
  db: Reader | Tx,
  organisationId: number,
): Promise<readonly ServiceChoice[]> {
  const { rows } = await sql<ServiceChoice>`
    select id, name from services where organisation_id = ${organisationId} and active order by id`.execute(
    db,
  );
  return rows;
}

/** The quota of an organisation and what its own servers use of it. Servers that an operator made do not count. */
export async function loadQuota(db: Reader | Tx, organisationId: number): Promise<Quota> {
  const { rows } = await sql<Quota>`
    select jsonb_build_object('servers', own_servers, 'memory', own_servers_memory, 'cpu', own_servers_cpu,
                              'disk', own_servers_disk) as limits,
           (select jsonb_build_object('servers', count(*), 'memory', coalesce(sum(memory_mib), 0),
                                      'cpu', coalesce(sum(cpu_percent), 0), 'disk', coalesce(sum(disk_mib), 0))
              from game_servers where made_by = organisations.id and organisation_id = organisations.id) as used
      from organisations where id = ${organisationId}`.execute(db);
  const [quota] = rows;
  if (quota === undefined) throw new Error('the organisation of the caller is not there');
  return quota;
}

/**
 * Throws `limit_exceeded` if the quota is too small for one more server. The caller holds the lock of the installation, so
 * that no two requests see the same rest.
 */
export async function requireQuota(
  tx: Tx,
  organisationId: number,
  wanted: Omit<ServerAmounts, 'servers'>,
): Promise<void> {
  const { limits, used } = await loadQuota(tx, organisationId);
  if (limits.servers === 0) {
    throw new Problem(
      'limit_exceeded',
      'This organisation has no quota for servers of its own: the operator makes them, or gives it one, by own_servers of its limits.',
    );
  }
  const passed = passedBy(wanted, limits, used);
  if (passed.length === 0) return;
  const errors = passed.map(({ field, detail }) => ({
    pointer: field === 'servers' ? '' : `/limits/${field}`,
    detail,
  }));
  throw new Problem('limit_exceeded', errors.map(({ detail }) => detail).join(' '), { errors });
}
