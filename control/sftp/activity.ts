import type { SftpLine, SftpReport } from '@portcullis/link/messages/sftp.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../db/database.ts';
import { noteLock } from '../db/locks.ts';
import { recordDone } from '../game-servers/index.ts';

/** Records what people did by SFTP on a node, in the activity of its servers. A batch is recorded once. */
export async function recordReport(
  db: Db,
  node: string,
  { batch, lines }: SftpReport,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    noteLock(tx, 'nodes', 'no key update');
    const { rows } = await sql`
      update nodes set activity_batch = ${batch}
       where name = ${node} and activity_batch is distinct from ${batch} returning 1`.execute(tx);
    if (rows.length === 0) return;
    // By server, so that two transactions never wait for each other's entries both ways.
    const sorted = lines.toSorted((a, b) => (a.session.server < b.session.server ? -1 : 1));
    const actors = await loadActors(tx, node, sorted);
    for (const [index, { session, source, action, times, ...line }] of sorted.entries()) {
      const name = actors.get(index + 1);
      if (name === undefined) continue;
      const by = { kind: 'user', name, source, door: 'sftp' } as const;
      await recordDone(tx, session.server, by, { action, detail: detailOf(line), times });
    }
  });
}

/**
 * The person of each line that has one, by its place. A node speaks of its own servers, and of people who have rights to the
 * server or whom control admitted there within a day: nothing can be said of others.
 */
async function loadActors(
  tx: Tx,
  node: string,
  lines: readonly SftpLine[],
): Promise<ReadonlyMap<number, string>> {
  const sessions = lines.map(({ session }) => session);
  const { rows } = await sql<{ position: number; email: string }>`
    select a.position::int, p.email
      from unnest(${sessions.map(({ person }) => person)}::bigint[],
                  ${sessions.map(({ server }) => server)}::uuid[])
           with ordinality as a (person, server, position)
      join people p on p.id = a.person
      join game_servers s on s.uuid = a.server
      join nodes n on n.id = s.node_id and n.name = ${node}
     where exists (select from members m
                    where m.organisation_id = s.organisation_id and m.person_id = p.id)
        or exists (select from server_people sp where sp.server = s.uuid and sp.person_id = p.id)
        or exists (select from server_activity e
                    where e.server = s.uuid and e.door = 'sftp' and e.actor = p.email
                      and e.at > now() - interval '1 day')`.execute(tx);
  return new Map(rows.map(({ position, email }) => [position, email]));
}

function detailOf({
  path,
  to,
  folder,
  refused,
}: Pick<SftpLine, 'path' | 'to' | 'folder' | 'refused'>): Record<string, string> {
  const where = path === null ? { folder: `${folder ?? ''}/` } : { path };
  return { ...where, ...(to !== null && { to }), ...(refused !== null && { refused }) };
}
