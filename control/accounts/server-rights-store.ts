import {
  completeRights,
  isServerRight,
  type ServerRight,
} from '@portcullis/core/access/server-rights.ts';
import { sql } from 'kysely';
import type { Reader, Tx } from '../db/database.ts';

/** A person with rights to one server. */
export interface ServerPerson {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  /** In the order of the table of rights. */
  readonly rights: readonly ServerRight[];
  readonly since: Date;
}

/** The people with rights to this server alone, by email. */
export async function loadServerPeople(db: Reader, server: string): Promise<ServerPerson[]> {
  const { rows } = await sql<ServerPerson>`
    select p.id, p.email, p.name, sp.rights, sp.since
      from server_people sp join people p on p.id = sp.person_id
     where sp.server = ${server} order by p.email`.execute(db);
  return rows.map((row) => ({ ...row, rights: row.rights.filter(isServerRight) }));
}

/** The rights of a person to the server, locked until the transaction ends; null without any. */
export async function lockRights(
  tx: Tx,
  server: string,
  personId: number,
): Promise<readonly ServerRight[] | null> {
  const { rows } = await sql<{ rights: readonly string[] }>`
    select rights from server_people
     where server = ${server} and person_id = ${personId} for update`.execute(tx);
  return rows[0]?.rights.filter(isServerRight) ?? null;
}

/** Gives a person exactly these rights to the server. */
export async function giveRights(
  tx: Tx,
  server: string,
  personId: number,
  rights: readonly ServerRight[],
): Promise<void> {
  await sql`
    insert into server_people (server, person_id, rights)
    values (${server}, ${personId}, ${completeRights(rights)}::text[])
    on conflict (server, person_id) do update set rights = excluded.rights`.execute(tx);
}

export async function takeRights(tx: Tx, server: string, personId: number): Promise<void> {
  await sql`
    delete from server_people where server = ${server} and person_id = ${personId}`.execute(tx);
}
