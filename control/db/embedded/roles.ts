import { userInfo } from 'node:os';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Account, giveTo } from './account.ts';
import { type Layout, socketUrl } from './layout.ts';

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

/**
 * Writes which accounts may become which roles: the kernel names the peer of the socket. The account that starts the
 * server may become any; if that is root, the account that it becomes afterwards gets `accountRole`.
 */
export function writeAuthentication(
  { cluster }: Layout,
  account: Account | null,
  accountRole: string,
): void {
  const starters = new Set(['root', userInfo().username]);
  const lines = [...starters].map((name) => `platform "${name}" all`);
  if (account !== null) lines.push(`platform "${account.name}" ${accountRole}`);
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

/** Creates the database and its roles, and gives them what an earlier version had created as the superuser. */
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
  await onDatabase(socketDir, DATABASE, (client) => client.query(OWNERS_AND_GRANTS));
}

/** Sequences of a column follow their table; `reassign owned` refuses the superuser of initdb. */
const OWNERS_AND_GRANTS = `
do $$
declare command text;
begin
  for command in
    select format('alter table %s owner to ${MIGRATION_ROLE}', c.oid::regclass)
      from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')
       and pg_get_userbyid(c.relowner) = '${SUPERUSER}'
       and not exists (select from pg_depend d
                        where d.classid = 'pg_class'::regclass and d.objid = c.oid
                          and c.relkind = 'S' and d.deptype in ('a', 'i'))
    union all
    select format('alter routine %s owner to ${MIGRATION_ROLE}', p.oid::regprocedure)
      from pg_proc p
     where p.pronamespace = 'public'::regnamespace and pg_get_userbyid(p.proowner) = '${SUPERUSER}'
    union all
    select format('alter type %s owner to ${MIGRATION_ROLE}', t.oid::regtype)
      from pg_type t
     where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')
       and pg_get_userbyid(t.typowner) = '${SUPERUSER}'
  loop
    execute command;
  end loop;
end $$;
grant usage on schema public to ${CONTROL_ROLE};
grant select, insert, update, delete on all tables in schema public to ${CONTROL_ROLE};
grant execute on all routines in schema public to ${CONTROL_ROLE};
grant usage, select, update on all sequences in schema public to ${CONTROL_ROLE};
alter default privileges for role ${MIGRATION_ROLE} in schema public
  grant select, insert, update, delete on tables to ${CONTROL_ROLE};
alter default privileges for role ${MIGRATION_ROLE} in schema public
  grant usage, select, update on sequences to ${CONTROL_ROLE};
alter default privileges for role ${MIGRATION_ROLE} in schema public
  grant execute on routines to ${CONTROL_ROLE};`;

async function onDatabase(
  socketDir: string,
  database: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ connectionString: socketUrl(socketDir, database, SUPERUSER) });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
