import type { Role } from '@portcullis/contract/endpoint.ts';
import {
  FILE_RIGHTS,
  type FileRight,
  isServerRight,
} from '@portcullis/core/access/server-rights.ts';
import type { SftpLogin, SftpSessionRef } from '@portcullis/link/messages/sftp.ts';
import { sql } from 'kysely';
import { hashToken, rightsOn } from '../access/index.ts';
import type { Db, Reader, Tx } from '../db/database.ts';

/** A key or password of a person that is good now. */
export interface SftpCredential {
  readonly id: number;
  readonly personId: number;
  readonly email: string;
}

/** The key or password that was sent, if it belongs to this person and neither has ended. */
export async function findCredential(
  db: Reader,
  { email, method, secret }: Pick<SftpLogin, 'email' | 'method' | 'secret'>,
): Promise<SftpCredential | null> {
  const address = email.trim().toLowerCase();
  const { rows } =
    method === 'key'
      ? await sql<SftpCredential>`
          select k.id, p.id as "personId", p.email
            from person_ssh_keys k join people p on p.id = k.person_id
           where p.email = ${address} and p.disabled_at is null
             and k.public_key = ${Buffer.from(secret, 'base64')}`.execute(db)
      : await sql<SftpCredential>`
          select w.id, p.id as "personId", p.email
            from sftp_passwords w join people p on p.id = w.person_id
           where p.email = ${address} and p.disabled_at is null
             and w.secret_hash = ${hashToken(secret)} and w.expires_at > now()`.execute(db);
  return rows[0] ?? null;
}

export async function noteUse(tx: Tx, method: SftpLogin['method'], id: number): Promise<void> {
  const table = sql.table(method === 'key' ? 'person_ssh_keys' : 'sftp_passwords');
  await sql`update ${table} set last_used_at = now() where id = ${id}`.execute(tx);
}

/** A server of this node by its uuid or the first eight characters of it; null for none, and for several. */
export async function findServer(db: Reader, node: string, name: string): Promise<string | null> {
  if (!/^[0-9a-f]{8}(?:[0-9a-f-]{28})?$/.test(name)) return null;
  const { rows } = await sql<{ uuid: string }>`
    select s.uuid from game_servers s join nodes n on n.id = s.node_id
     where n.name = ${node} and starts_with(s.uuid::text, ${name}) limit 2`.execute(db);
  return rows.length === 1 ? (rows[0]?.uuid ?? null) : null;
}

interface RightsRow {
  readonly position: number;
  readonly role: Role | null;
  readonly rights: readonly string[] | null;
}

/**
 * The rights to files that each of these sessions has now, in their order. Null: it may not go on, because the person, the
 * server on this node, the key or password, or the right to connect is gone, or the server is suspended.
 */
export async function loadRights(
  db: Db | Tx,
  node: string,
  sessions: readonly SftpSessionRef[],
): Promise<(readonly FileRight[] | null)[]> {
  const { rows } = await sql<RightsRow>`
    select a.position::int, m.role, sp.rights
      from unnest(${sessions.map(({ person }) => person)}::bigint[],
                  ${sessions.map(({ server }) => server)}::uuid[],
                  ${sessions.map(({ credential }) => credential.split(':')[0])}::text[],
                  ${sessions.map(({ credential }) => credential.split(':')[1])}::bigint[])
           with ordinality as a (person, server, method, credential, position)
      join people p on p.id = a.person and p.disabled_at is null
      join game_servers s on s.uuid = a.server and not s.suspended
      join nodes n on n.id = s.node_id and n.name = ${node}
      left join members m on m.organisation_id = s.organisation_id and m.person_id = p.id
      left join server_people sp on sp.server = s.uuid and sp.person_id = p.id
     where (a.method = 'key' and exists (
             select from person_ssh_keys k where k.id = a.credential and k.person_id = p.id))
        or (a.method = 'password' and exists (
             select from sftp_passwords w
              where w.id = a.credential and w.person_id = p.id and w.expires_at > now()))`.execute(
    db,
  );
  const found = new Map(rows.map((row) => [row.position, row]));
  return sessions.map(({ server }, index) => {
    const row = found.get(index + 1);
    return row === undefined ? null : rightsOf(row, server);
  });
}

function rightsOf({ role, rights }: RightsRow, server: string): readonly FileRight[] | null {
  const own = new Map([[server, new Set((rights ?? []).filter(isServerRight))]]);
  const all =
    role === null
      ? rightsOn({ kind: 'guest', serverRights: own }, server)
      : rightsOn({ kind: 'member', role, serverRights: own }, server);
  return all.has('file.sftp') ? FILE_RIGHTS.filter((right) => all.has(right)) : null;
}
