import { userInfo } from 'node:os';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Account, giveTo } from './account.ts';
import { type Layout, socketUrl } from './data-directory.ts';
import { DatabaseClient } from '../client.ts';

/** The superuser that initdb created. Only root, or the account that started the server, may become it. */
export const SUPERUSER = 'portcullis';
/** Owns the database and its tables. */
const MIGRATION_ROLE = 'portcullis_migrate';
/** Reads and writes rows. */
export const CONTROL_ROLE = 'portcullis_control';

const DATABASE = 'portcullis';

/** Rewrites a URL of the embedded server to the role that migrates; other URLs stay. */
export function migrationUrl(url: string): string {
  const suffix = `user=${CONTROL_ROLE}`;
  return url.endsWith(suffix) ? url.slice(0, -CONTROL_ROLE.length) + MIGRATION_ROLE : url;
}

export function controlUrl(layout: Pick<Layout, 'socketDir'>): string {
  return socketUrl(layout.socketDir, DATABASE, CONTROL_ROLE);
}

/** Each by its name: `all` in a map is a role of that name before PostgreSQL 16. */
export const ROLES: readonly string[] = [SUPERUSER, MIGRATION_ROLE, CONTROL_ROLE];

/**
 * Writes which accounts may become which roles: the kernel names the peer of the socket. The account that starts the
 * server may become any; if that is root, the account that it becomes afterwards gets `accountRoles`.
 */
export function writeAuthentication(
  { cluster }: Layout,
  account: Account | null,
  accountRoles: readonly string[],
): void {
  const starters = new Set(['root', userInfo().username]);
  const allow = (name: string, roles: readonly string[]): string[] =>
    roles.map((role) => `platform "${name}" ${role}`);
  const lines = [...starters].flatMap((name) => allow(name, ROLES));
  if (account !== null) lines.push(...allow(account.name, accountRoles));
  const files = {
    'pg_hba.conf': 'local all all peer map=platform\n',
    'pg_ident.conf': `${lines.join('\n')}\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(cluster, name);
    const fresh = `${path}.new`;
    writeFileSync(fresh, `# Portcullis writes this file at every start.\n${text}`, { mode: 0o600 });
    chmodSync(fresh, 0o600);
    giveTo(account, fresh);
    renameSync(fresh, path);
  }
}

/** Creates the database and its roles. Every table that migrations make later is readable and writable by control. */
export async function provideDatabase({ socketDir }: Layout): Promise<void> {
  await onDatabase(socketDir, 'postgres', async (client) => {
    for (const role of [MIGRATION_ROLE, CONTROL_ROLE]) {
      const found = await client.query('select from pg_roles where rolname = $1', [role]);
      if (found.rowCount === 0) await client.query(`create role ${role} login`);
    }
    const found = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
    await client.query(`alter database ${DATABASE} owner to ${MIGRATION_ROLE}`);
    await client.query(`revoke all on database ${DATABASE} from public`);
    await client.query(`grant connect on database ${DATABASE} to ${CONTROL_ROLE}`);
  });
  await onDatabase(socketDir, DATABASE, (client) => client.query(GRANTS));
}

const FUTURE = `alter default privileges for role ${MIGRATION_ROLE} in schema public grant`;
const GRANTS = `
  ${FUTURE} select, insert, update, delete on tables to ${CONTROL_ROLE};
  ${FUTURE} usage, select, update on sequences to ${CONTROL_ROLE};
  ${FUTURE} execute on routines to ${CONTROL_ROLE};`;

async function onDatabase(
  socketDir: string,
  database: string,
  work: (client: DatabaseClient) => Promise<unknown>,
): Promise<void> {
  const client = new DatabaseClient(socketUrl(socketDir, database, SUPERUSER));
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
