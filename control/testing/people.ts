import { sql } from 'kysely';
import { hashToken } from '../access/index.ts';
import type { Db } from '../db/database.ts';

/** A person for each role in acme, one without a role, and an operator, also one that acts for acme. */
export const PEOPLE = [
  'read-only',
  'member',
  'admin',
  'owner',
  'stranger',
  'operator',
  'acting',
] as const;
export type TestPerson = (typeof PEOPLE)[number];

/** The session's token of a person. */
export function tokenOf(person: TestPerson): string {
  return person.padEnd(43, '_');
}

/** None of them has a password: tests that sign in make their own people. */
export async function seedPeople(db: Db, organisationId: number): Promise<void> {
  for (const name of PEOPLE) {
    const isOperator = name === 'operator' || name === 'acting';
    const isMember = !isOperator && name !== 'stranger';
    await sql`
      with p as (
        insert into people (email, name, password_hash, is_operator)
        values (${`${name}@acme.example`}, ${name}, '', ${isOperator}) returning id
      ), m as (
        insert into members (organisation_id, person_id, role)
        select ${organisationId}, id, ${name} from p where ${isMember}
      )
      insert into sessions (token_hash, person_id, acting_id, expires_at)
      select ${hashToken(tokenOf(name))}, id, ${name === 'acting' ? organisationId : null}, now() + interval '1 day'
        from p`.execute(db);
  }
}
