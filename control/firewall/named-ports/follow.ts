import { MARK_COLUMNS, marksOfTable } from '../mark-columns.ts';
import { sql } from 'kysely';
import { lockRows } from '../../db/locks.ts';
import { type Batch, UNSTAMPED } from '../../fleet/batch.ts';

interface Moved {
  readonly id: number;
  /** The address of an own rule, the group of a group's. */
  readonly of: number;
}

/**
 * Brings rules that name ports of these servers to the present numbers: each is replaced by one with the new number. A
 * rule whose port is gone, or not at its address any more, ends. Call it in the transaction that changed the servers.
 */
export async function followPorts(batch: Batch, servers: readonly string[]): Promise<void> {
  await followOwn(batch, servers);
  await followGroups(batch, servers);
}

async function followOwn(batch: Batch, servers: readonly string[]): Promise<void> {
  const { tx } = batch;
  const named = sql`r.port_server = any(${servers}::uuid[]) and r.deleted_generation is null`;
  // As every write to an address does first.
  const addresses = await sql<{
    id: number;
  }>`select distinct r.address_id as id from rules r where ${named}`.execute(tx);
  await lockRows(tx, 'addresses', idsOf(addresses), 'update');
  const port = sql`(
    select n.port from named_ports n
     where n.uuid = r.port_server and n.name = r.port_name and n.organisation_id = h.organisation_id
       and reaches(a.ip, n.ip, n.service_id))`;
  const { rows } = await sql<Moved & { readonly ip: string }>`
    select r.id, a.id as of, a.ip::cidr as ip
      from rules r join addresses a on a.id = r.address_id join holdings h on h.id = a.holding_id
     where ${named} and ${port} is distinct from r.port`.execute(tx);
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await batch.end('rules', ids);
  const created = await sql<{ id: number }>`
    insert into rules (address_id, action, protocol, source, port, tags, ${MARK_COLUMNS}, port_server, port_name,
                       created_generation)
    select r.address_id, r.action, r.protocol, r.source, ${port}, r.tags, ${marksOfTable('r')}, r.port_server, r.port_name,
           ${UNSTAMPED.created_generation}
      from rules r join addresses a on a.id = r.address_id join holdings h on h.id = a.holding_id
     where r.id = any(${ids}::bigint[]) and ${port} is not null
     order by r.id returning id`.execute(tx);
  batch.begin('rules', idsOf(created));
  await batch.touchAddresses(rows.map(({ of, ip }) => ({ id: of, ip })));
}

/** A group's rule is for all of its targets, so it does not matter at which address the port is. */
async function followGroups(batch: Batch, servers: readonly string[]): Promise<void> {
  const { tx } = batch;
  const port = sql`(
    select n.port from named_ports n
     where n.uuid = r.port_server and n.name = r.port_name and n.organisation_id = g.organisation_id)`;
  const { rows } = await sql<Moved>`
    select r.id, g.id as of from group_rules r join groups g on g.id = r.group_id
     where r.port_server = any(${servers}::uuid[]) and r.deleted_generation is null
       and ${port} is distinct from r.port`.execute(tx);
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await batch.end('group_rules', ids);
  const created = await sql<{ id: number }>`
    insert into group_rules (group_id, action, protocol, source, port, port_server, port_name, ${MARK_COLUMNS},
                             created_generation)
    select r.group_id, r.action, r.protocol, r.source, ${port}, r.port_server, r.port_name, ${marksOfTable('r')},
           ${UNSTAMPED.created_generation}
      from group_rules r join groups g on g.id = r.group_id
     where r.id = any(${ids}::bigint[]) and ${port} is not null
     order by r.id returning id`.execute(tx);
  batch.begin('group_rules', idsOf(created));
  const { rows: targets } = await sql<{ target: string }>`
    select distinct target from group_assignments
     where group_id = any(${rows.map(({ of }) => of)}::bigint[]) and deleted_generation is null`.execute(
    tx,
  );
  batch.touch(...targets.map(({ target }) => target));
}

function idsOf({ rows }: { readonly rows: readonly { readonly id: number }[] }): number[] {
  return rows.map(({ id }) => id);
}
