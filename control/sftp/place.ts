import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { SftpOfNode } from '@portcullis/link/messages/sftp.ts';
import { sql } from 'kysely';
import type { Caller } from '../access/index.ts';
import type { Reader } from '../db/database.ts';
import { requireServer } from '../game-servers/index.ts';
import type { Handlers } from '../http/operations/handlers.ts';

/** How people reach the files of a server by SFTP. */
export function sftpPlaceHandlers(): Pick<Handlers, 'readServerSftp'> {
  return {
    async readServerSftp(call, db) {
      const { uuid } = await requireServer(db, call, 'file.sftp');
      return { status: 200, body: { data: placeView(await loadPlace(db, uuid), call.by) } };
    },
  };
}

interface Place {
  /** Declared by the operator; null: none. */
  readonly host: string | null;
  readonly sftp: SftpOfNode | null;
  /** The first declared address of the node; null: none. */
  readonly address: string | null;
  /** The address of the server. */
  readonly ip: string;
  /** The shortest name by which its node knows it. */
  readonly server: string;
}

async function loadPlace(db: Reader, uuid: string): Promise<Place> {
  const { rows } = await sql<Place>`
    select n.sftp_host as host, n.sftp, host(n.addresses[1]) as address, host(s.ip) as ip,
           case when exists (select from game_servers o
                              where o.node_id = n.id and o.uuid <> s.uuid
                                and left(o.uuid::text, 8) = left(s.uuid::text, 8))
                then s.uuid::text else left(s.uuid::text, 8) end as server
      from game_servers s join nodes n on n.id = s.node_id
     where s.uuid = ${uuid}`.execute(db);
  const [place] = rows;
  if (place === undefined) throw new Error(`no server ${uuid}`);
  return place;
}

function placeView({ host: declared, sftp, address, ip, server }: Place, by: Caller) {
  const spelled = sftp?.address ?? address ?? ip;
  const host = declared ?? canonicalAddress(spelled) ?? spelled;
  const user = by.kind === 'key' ? null : `${by.person.email}.${server}`;
  const port = sftp?.port ?? null;
  const url =
    user === null || port === null
      ? null
      : `sftp://${encodeURIComponent(user)}@${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { host, port, fingerprint: sftp?.fingerprint ?? null, server, user, url };
}
