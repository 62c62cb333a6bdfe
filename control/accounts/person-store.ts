import { sql } from 'kysely';
import type { Reader, Tx } from '../db/database.ts';
import { invalidValue, type Problem } from '../problem.ts';

export interface PersonRow {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly password_hash: string;
  readonly is_operator: boolean;
  readonly totp_secret: Buffer | null;
  readonly totp_confirmed_at: Date | null;
  readonly totp_last_step: number;
  readonly disabled_at: Date | null;
  /** When the address answered, or an operator gave its word; null: anybody may have made the account. */
  readonly proven_at: Date | null;
  /** The organisation whose link made the account. */
  readonly made_by: number | null;
}

/** Email addresses are compared in lower case; the part before @ is in practice too. */
export function canonicalEmail(text: string): string {
  return text.trim().toLowerCase();
}

export function requireEmail(text: string): string {
  const email = canonicalEmail(text);
  if (/^[^\s@]+@[^\s@]+$/.test(email)) return email;
  throw refuse('/email', 'must be an email address');
}

export function refuse(pointer: string, detail: string): Problem {
  return invalidValue(`The field ${pointer.slice(1)}`, { pointer }, detail);
}

export async function findPersonByEmail(db: Reader, email: string): Promise<PersonRow | null> {
  const { rows } = await sql<PersonRow>`
    select * from people where email = ${canonicalEmail(email)}`.execute(db);
  return rows[0] ?? null;
}

export async function findPerson(db: Reader, id: number): Promise<PersonRow | null> {
  const { rows } = await sql<PersonRow>`select * from people where id = ${id}`.execute(db);
  return rows[0] ?? null;
}

/** The person as it is now, until the end of the transaction. */
export async function lockPerson(tx: Tx, email: string): Promise<PersonRow | null> {
  const { rows } = await sql<PersonRow>`
    select * from people where email = ${canonicalEmail(email)} for no key update`.execute(tx);
  return rows[0] ?? null;
}

export async function insertPerson(
  tx: Tx,
  person: {
    readonly email: string;
    readonly name: string;
    readonly passwordHash: string;
    readonly isOperator: boolean;
    /** Whether the person proved that it has the address. */
    readonly isProven: boolean;
    /** The organisation whose link makes the account; null: none. */
    readonly madeBy: number | null;
  },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into people (email, name, password_hash, is_operator, proven_at, made_by)
    values (${person.email}, ${person.name}, ${person.passwordHash}, ${person.isOperator},
            case when ${person.isProven} then now() end, ${person.madeBy})
    returning id`.execute(tx);
  return rows[0]?.id ?? 0;
}

export async function endSessions(tx: Tx, personId: number, keptId: number | null): Promise<void> {
  await sql`
    delete from sessions where person_id = ${personId} and id is distinct from ${keptId}`.execute(
    tx,
  );
}
