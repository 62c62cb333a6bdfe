import { randomBytes } from 'node:crypto';
import { fingerprintOf, parseSshKey } from '@portcullis/link/ssh-key.ts';
import { sql } from 'kysely';
import { hashToken } from '../access/index.ts';
import { auditOwn, DONE, refuse, requirePassword } from '../accounts/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notThere } from '../http/operations/not-found.ts';

export type OwnAccessNames =
  | 'readSftpAccess'
  | 'addSshKey'
  | 'deleteSshKey'
  | 'makeSftpPassword'
  | 'deleteSftpPassword';

/** Keys, and passwords, of one person. */
const MAX_OF_PERSON = 50;
/** The beginning of a password: without, one of 64 would begin with a dash, which programs take for an option. */
const PASSWORD_PREFIX = 'pcs_';
/** 144 random bits: 24 characters. */
const PASSWORD_BYTES = 18;

/** The SSH keys and SFTP passwords of the signed-in person. */
export function sftpAccessHandlers(): Pick<Handlers, OwnAccessNames> {
  return { ...keyHandlers(), ...passwordHandlers() };
}

function keyHandlers(): Pick<Handlers, 'readSftpAccess' | 'addSshKey' | 'deleteSshKey'> {
  return {
    readSftpAccess: async ({ by }, db) => ({
      status: 200,
      body: { data: await readAccess(db, by.id) },
    }),
    async addSshKey(call, db) {
      await requirePassword(db, call.by, call.body.password);
      const key = parseSshKey(call.body.public_key);
      if (!key.ok) throw refuse('/public_key', key.reason);
      const { type, blob } = key.value;
      await call.write(async (tx) => {
        await requireRoom(tx, 'person_ssh_keys', call.by.id);
        const { rows } = await sql`
          insert into person_ssh_keys (person_id, name, type, public_key)
          values (${call.by.id}, ${call.body.name}, ${type}, ${blob})
          on conflict (person_id, public_key) do nothing returning 1`.execute(tx);
        if (rows.length === 0) throw refuse('/public_key', 'is one of your keys already');
        await auditOwn(tx, call, 'ssh_key.add');
      });
      return { ...DONE, status: 201 };
    },
    async deleteSshKey(call, tx) {
      await remove(tx, 'person_ssh_keys', call.by.id, call.params.ssh_key);
      await auditOwn(tx, call, 'ssh_key.delete');
      return DONE;
    },
  };
}

function passwordHandlers(): Pick<Handlers, 'makeSftpPassword' | 'deleteSftpPassword'> {
  return {
    async makeSftpPassword(call, db) {
      await requirePassword(db, call.by, call.body.password);
      const password = PASSWORD_PREFIX + randomBytes(PASSWORD_BYTES).toString('base64url');
      const { name, days } = call.body;
      const made = await call.write(async (tx) => {
        await requireRoom(tx, 'sftp_passwords', call.by.id);
        const { rows } = await sql<{ id: number; expires_at: Date }>`
          insert into sftp_passwords (person_id, name, secret_hash, expires_at)
          values (${call.by.id}, ${name}, ${hashToken(password)}, now() + make_interval(days => ${days}))
          returning id, expires_at`.execute(tx);
        await auditOwn(tx, call, 'sftp_password.make');
        return rows[0];
      });
      if (made === undefined) throw new Error('an insert returned no row');
      const expires = made.expires_at.toISOString();
      return { status: 201, body: { data: { id: made.id, password, expires_at: expires } } };
    },
    async deleteSftpPassword(call, tx) {
      await remove(tx, 'sftp_passwords', call.by.id, call.params.sftp_password);
      await auditOwn(tx, call, 'sftp_password.delete');
      return DONE;
    },
  };
}

type OwnTable = 'person_ssh_keys' | 'sftp_passwords';

async function requireRoom(tx: Tx, table: OwnTable, personId: number): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)} where person_id = ${personId}`.execute(
    tx,
  );
  if ((rows[0]?.count ?? 0) < MAX_OF_PERSON) return;
  throw refuse('/name', `would be one more than ${MAX_OF_PERSON}; delete one first`);
}

async function remove(tx: Tx, table: OwnTable, personId: number, id: number): Promise<void> {
  const { rows } = await sql`
    delete from ${sql.table(table)} where id = ${id} and person_id = ${personId}
    returning 1`.execute(tx);
  if (rows.length === 0) throw notThere();
}

interface KeyRow {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly public_key: Buffer;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}

type PasswordRow = Omit<KeyRow, 'type' | 'public_key'> & { readonly expires_at: Date };

async function readAccess(db: Reader, personId: number) {
  const keys = await sql<KeyRow>`
    select id, name, type, public_key, created_at, last_used_at
      from person_ssh_keys where person_id = ${personId} order by id`.execute(db);
  const passwords = await sql<PasswordRow>`
    select id, name, created_at, last_used_at, expires_at
      from sftp_passwords where person_id = ${personId} order by id`.execute(db);
  return {
    keys: keys.rows.map(({ id, name, type, public_key, ...row }) => ({
      id,
      name,
      type,
      fingerprint: fingerprintOf(public_key),
      ...momentsOf(row),
    })),
    passwords: passwords.rows.map(({ id, name, expires_at, ...row }) => ({
      id,
      name,
      expires_at: expires_at.toISOString(),
      ...momentsOf(row),
    })),
  };
}

function momentsOf({ created_at, last_used_at }: Pick<KeyRow, 'created_at' | 'last_used_at'>) {
  return {
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  };
}
