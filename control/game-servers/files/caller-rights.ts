import type { Role } from '@portcullis/contract/endpoint.ts';
import type { Ability } from '@portcullis/core/access/abilities.ts';
import {
  FILE_RIGHTS,
  type FileRight,
  isServerRight,
} from '@portcullis/core/access/server-rights.ts';
import type { CallerOnServer } from '@portcullis/link/messages/files.ts';
import { sql } from 'kysely';
import { type Caller, rightsOn } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';

/** Names a caller to a node, which asks for its rights later. */
export function callerRef(by: Caller): string {
  return by.kind === 'key' ? `key:${by.keyId}` : `person:${by.person.id}`;
}

interface PersonRow {
  readonly position: number;
  readonly role: Role | null;
  readonly rights: readonly string[] | null;
}

interface KeyRow {
  readonly position: number;
  readonly abilities: readonly Ability[];
  readonly servers: readonly string[] | null;
  readonly managedServers: readonly string[] | null;
}

/**
 * The rights to files that each of these callers has now, in their order: none where the person or key, or the server on
 * this node, is gone, or the server is suspended.
 */
export async function loadCallerRights(
  db: Db | Tx,
  node: string,
  callers: readonly CallerOnServer[],
): Promise<(readonly FileRight[])[]> {
  const people = await loadPeople(db, node, callers);
  const keys = await loadKeys(db, node, callers);
  return callers.map(({ server }, index) => {
    const all = people.get(index + 1)?.(server) ?? keys.get(index + 1)?.(server);
    return FILE_RIGHTS.filter((right) => all?.has(right) === true);
  });
}

/** The rights to a server, by the position of the caller. */
type Found = ReadonlyMap<number, (server: string) => ReturnType<typeof rightsOn>>;

async function loadPeople(
  db: Db | Tx,
  node: string,
  callers: readonly CallerOnServer[],
): Promise<Found> {
  const { rows } = await sql<PersonRow>`
    select a.position::int,
           case when p.is_operator and exists (
             select from sessions x where x.person_id = p.id and x.expires_at > now()
                and x.acting_id = s.organisation_id) then 'owner' else m.role end as role,
           sp.rights
      from ${asked(callers)} join people p on a.kind = 'person' and p.id = a.id
       and p.disabled_at is null
      join game_servers s on s.uuid = a.server and not s.suspended
      join nodes n on n.id = s.node_id and n.name = ${node}
      left join members m on m.organisation_id = s.organisation_id and m.person_id = p.id
      left join server_people sp on sp.server = s.uuid and sp.person_id = p.id`.execute(db);
  return new Map(
    rows.map(({ position, role, rights }) => [
      position,
      (server) => {
        const serverRights = new Map([[server, new Set((rights ?? []).filter(isServerRight))]]);
        return role === null
          ? rightsOn({ kind: 'guest', serverRights }, server)
          : rightsOn({ kind: 'member', role, serverRights }, server);
      },
    ]),
  );
}

async function loadKeys(
  db: Db | Tx,
  node: string,
  callers: readonly CallerOnServer[],
): Promise<Found> {
  const { rows } = await sql<KeyRow>`
    select a.position::int, k.abilities, k.servers, k.managed_servers as "managedServers"
      from ${asked(callers)} join api_keys k on a.kind = 'key' and k.id = a.id
       and k.revoked_at is null and k.suspended_at is null
       and (k.expires_at is null or k.expires_at > now())
      join game_servers s on s.uuid = a.server and not s.suspended
       and s.organisation_id = k.organisation_id
      join nodes n on n.id = s.node_id and n.name = ${node}`.execute(db);
  return new Map(
    rows.map(({ position, abilities, ...bound }) => [
      position,
      (server) => rightsOn({ kind: 'key', abilities: new Set(abilities), ...bound }, server),
    ]),
  );
}

/** The callers as a table. */
function asked(callers: readonly CallerOnServer[]) {
  const parts = callers.map(({ caller }) => caller.split(':'));
  return sql`unnest(${callers.map(({ server }) => server)}::uuid[],
                    ${parts.map(([kind]) => kind)}::text[],
                    ${parts.map(([, id]) => id)}::bigint[])
             with ordinality as a (server, kind, id, position)`;
}
