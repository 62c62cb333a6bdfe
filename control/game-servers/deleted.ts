import { sql } from 'kysely';
import type { Reader, Tx } from '../db/database.ts';
import { lockRows } from '../db/locks.ts';

/** A server whose files are on a node that it is no longer assigned to. */
export interface DeletedServer {
  readonly uuid: string;
  readonly node: string;
  readonly organisation: string;
  readonly name: string;
  /** The server as it was declared. */
  readonly declared: object;
  readonly externalId: string | null;
  readonly buildEpoch: number;
  readonly deletedAt: Date;
  /** Null: it is kept until its files are purged by hand. */
  readonly purgeAt: Date | null;
  /** Its time is over; its node purges it when it is connected. */
  readonly isDue: boolean;
  /** The organisation that made it within its quota; null: an operator did. */
  readonly madeBy: number | null;
  /** The server is on another node now, so it cannot be restored. */
  readonly isElsewhere: boolean;
}

/** A stored server, with the number of its service and the like. */
interface Left {
  readonly object: { readonly uuid: string };
}

/** Records servers that are about to leave their nodes: those keep their files for a time. What was never built has none. */
export async function recordLeft(tx: Tx, many: readonly Left[]): Promise<void> {
  if (many.length === 0) return;
  const given = JSON.stringify(many.map(({ object }) => ({ uuid: object.uuid, declared: object })));
  await sql`
    insert into deleted_servers (uuid, node_id, organisation, name, declared, external_id, build_epoch, purge_at, made_by)
    select g.uuid, g.node_id, o.slug, g.name, given.declared, g.external_id, g.build_epoch,
           clock_timestamp() + make_interval(days => nullif(n.keep_days, -1)), g.made_by
      from jsonb_to_recordset(${given}::jsonb) as given (uuid uuid, declared jsonb)
      join game_servers g on g.uuid = given.uuid and g.provisioned
      join organisations o on o.id = g.organisation_id
      join nodes n on n.id = g.node_id
        on conflict (uuid, node_id) do update
       set organisation = excluded.organisation, name = excluded.name, declared = excluded.declared,
           external_id = excluded.external_id, build_epoch = excluded.build_epoch, deleted_at = excluded.deleted_at,
           purge_at = excluded.purge_at, made_by = excluded.made_by, by_maker = false`.execute(tx);
}

/** The newest entries of a server's activity that a deletion keeps: all writers wait for it. */
const KEPT_ENTRIES = 500;

/** Keeps the people and the newest activity of servers that are about to be deleted, for as long as `recordLeft` keeps their files. */
export async function keepPeople(tx: Tx, uuids: readonly string[]): Promise<void> {
  await sql`
    insert into deleted_server_people (uuid, node_id, person_id, rights, since)
    select d.uuid, d.node_id, p.person_id, p.rights, p.since
      from game_servers g
      join deleted_servers d on d.uuid = g.uuid and d.node_id = g.node_id
      join server_people p on p.server = g.uuid
     where g.uuid = any(${uuids}::uuid[])`.execute(tx);
  await sql`
    update server_activity a set server = null, deleted_uuid = d.uuid, deleted_node = d.node_id
      from game_servers g join deleted_servers d on d.uuid = g.uuid and d.node_id = g.node_id
     where g.uuid = any(${uuids}::uuid[]) and a.server = g.uuid
       and a.id >= coalesce((select id from server_activity where server = g.uuid
                              order by id desc offset ${KEPT_ENTRIES - 1} limit 1), 0)`.execute(tx);
}

/**
 * Gives servers that are declared again, where their files are, the people and the activity that were kept, if they are of
 * the same organisation: people of another one, and their names, are none of its business.
 */
export async function takePeopleBack(tx: Tx, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return;
  const kept = sql`
    game_servers g
      join organisations o on o.id = g.organisation_id
      join deleted_servers d on d.uuid = g.uuid and d.node_id = g.node_id and d.organisation = o.slug`;
  await sql`
    insert into server_people (server, person_id, rights, since)
    select p.uuid, p.person_id, p.rights, p.since
      from ${kept} join deleted_server_people p on p.uuid = d.uuid and p.node_id = d.node_id
     where g.uuid = any(${uuids}::uuid[])
        on conflict do nothing`.execute(tx);
  // What another node kept of it is older than what is decided from now on.
  await sql`delete from deleted_server_people where uuid = any(${uuids}::uuid[])`.execute(tx);
  await sql`
    update server_activity a set server = d.uuid, deleted_uuid = null, deleted_node = null
      from ${kept}
     where g.uuid = any(${uuids}::uuid[]) and a.deleted_uuid = d.uuid and a.deleted_node = d.node_id`.execute(
    tx,
  );
}

/** The MiB that a server's own files of its time before count on a node, so that a request for it there counts them once. */
export async function loadLeftDisk(tx: Tx, uuid: string, node: string): Promise<number> {
  const { rows } = await sql<{ disk: number }>`
    select coalesce((d.declared #>> '{limits,disk}')::integer, 0) as disk
      from deleted_servers d join nodes n on n.id = d.node_id
     where d.uuid = ${uuid} and n.name = ${node}`.execute(tx);
  return rows[0]?.disk ?? 0;
}

/** Forgets that nodes keep files of servers that are theirs again. */
export async function forgetLeft(tx: Tx, uuids: readonly string[]): Promise<void> {
  await sql`
    delete from deleted_servers d using game_servers g
     where g.uuid = any(${uuids}::uuid[]) and d.uuid = g.uuid and d.node_id = g.node_id`.execute(
    tx,
  );
}

/** Deleted servers, the first that is purged before the others. */
export async function loadDeleted(
  db: Reader | Tx,
  uuid: string | null = null,
): Promise<DeletedServer[]> {
  const { rows } = await sql<DeletedServer>`
    select d.uuid, n.name as node, d.organisation, d.name, d.declared, d.external_id as "externalId",
           d.build_epoch as "buildEpoch", d.deleted_at as "deletedAt", d.purge_at as "purgeAt",
           coalesce(d.purge_at <= now(), false) as "isDue", d.made_by as "madeBy",
           exists (select from game_servers g where g.uuid = d.uuid) as "isElsewhere"
      from deleted_servers d join nodes n on n.id = d.node_id
     where ${uuid}::uuid is null or d.uuid = ${uuid}::uuid
     order by d.purge_at nulls last, d.deleted_at, d.uuid`.execute(db);
  return rows;
}

/**
 * A deleted server as each node has it, with its nodes locked: their heartbeats say what is purged, and lock their node first
 * too.
 */
export async function lockDeleted(tx: Tx, uuid: string): Promise<DeletedServer[]> {
  const { rows } = await sql<{ id: number }>`
    select node_id as id from deleted_servers where uuid = ${uuid}`.execute(tx);
  const ids = rows.map(({ id }) => id);
  await lockRows(tx, 'nodes', ids, 'no key update');
  return loadDeleted(tx, uuid);
}

/** Forgets a deleted server, because it is declared again. */
export async function forgetDeleted(tx: Tx, uuid: string): Promise<void> {
  await sql`delete from deleted_servers where uuid = ${uuid} and (purge_at is null or purge_at > now())`.execute(
    tx,
  );
}

/** Ends the time for which the files of a deleted server are kept. */
export async function endKeeping(tx: Tx, uuid: string): Promise<void> {
  await sql`
    update deleted_servers set purge_at = now()
     where uuid = ${uuid} and (purge_at is null or purge_at > now())`.execute(tx);
}

/** Makes a server that was saved again continue with the files of its last build, as its maker's. */
export async function resumeBuild(
  tx: Tx,
  {
    uuid,
    buildEpoch,
    externalId,
    madeBy,
  }: Pick<DeletedServer, 'uuid' | 'buildEpoch' | 'externalId' | 'madeBy'>,
): Promise<void> {
  await sql`
    update game_servers set build_epoch = ${buildEpoch}, restored_epoch = ${buildEpoch}, external_id = ${externalId},
           made_by = (select id from organisations where id = ${madeBy})
     where uuid = ${uuid}`.execute(tx);
}
