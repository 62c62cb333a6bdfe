import type { Role } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import type { Person } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';

interface OrganisationRow {
  readonly slug: string;
  readonly name: string;
  readonly role: Role;
  readonly owner: Owner;
}

/** Who is signed in, with its organisations; one that an operator acts for has the role of an owner. */
export async function readWhoAmI(db: Db, person: Person): Promise<object> {
  const { rows } = await sql<{
    name: string;
    acting_for: string | null;
    organisations: OrganisationRow[];
  }>`
    select p.name, a.slug as acting_for, coalesce((
        select json_agg(json_build_object('slug', o.slug, 'name', o.name, 'owner', o.owner,
                                          'role', case when o.id = a.id then 'owner' else m.role end) order by o.slug)
          from organisations o
          left join members m on m.organisation_id = o.id and m.person_id = p.id
         where m.person_id is not null or o.id = a.id), '[]') as organisations
      from people p
      join sessions s on s.id = ${person.sessionId}
      left join organisations a on a.id = s.acting_id and p.is_operator
     where p.id = ${person.id}`.execute(db);
  const row = rows[0] ?? { name: '', acting_for: null, organisations: [] };
  return { id: person.id, email: person.email, operator: person.isOperator, ...row };
}

export async function readAccount(db: Db, personId: number): Promise<object> {
  const { rows } = await sql<object>`
    select p.totp_confirmed_at is not null as totp,
           (select count(*)::int from recovery_codes c where c.person_id = p.id) as recovery_codes_left,
           coalesce((select json_agg(json_build_object('id', k.id, 'name', k.name, 'created_at', k.created_at,
                                                       'last_used_at', k.last_used_at) order by k.id)
                       from passkeys k where k.person_id = p.id), '[]') as passkeys
      from people p where p.id = ${personId}`.execute(db);
  return rows[0] ?? {};
}
