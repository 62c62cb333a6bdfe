import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { type Db, openDatabase } from './database.ts';
import { installedBinaries } from './embedded/binaries.ts';
import { startEmbeddedPostgres } from './embedded/index.ts';
import { loadMigrations, migrate } from './migrate.ts';
import { scratchRoot } from './scratch.ts';

/** The URL of the runner's server for test databases. */
const SERVER_VARIABLE = 'PORTCULLIS_TEST_DATABASE_URL';
/** A folder with `bin/postgres` of another version to test on, such as /usr/lib/postgresql/15. Default: the embedded one. */
const POSTGRES_VARIABLE = 'PORTCULLIS_TEST_POSTGRES';

/** The lifetime of a test database: a test, or a file in a `before` hook. */
export interface Lifetime {
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface TestDatabase {
  readonly db: Db;
  readonly url: string;
}

export interface TestCluster {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A migrated, empty database for one test, closed and dropped after the test and all its `after` hooks. Other
 * connections of the test must be closed by then: a remaining connection fails the run.
 */
export async function testDatabase(t: Lifetime): Promise<TestDatabase> {
  const server = await serverUrl();
  const template = await provideTemplate(server);
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  await onServer(server, (client) =>
    // Copying the files takes three quarters of the time that copying through the WAL does.
    client.query(`create database ${name} template ${template} strategy file_copy`),
  );
  const url = withDatabase(server, name);
  const db = openDatabase({ url, idleExit: true });
  const lent: Lent = {
    async close() {
      open.delete(lent);
      await db.destroy();
      const leaked = await onServer(server, async (client) => {
        const left = await waitUntilUnused(client, name);
        await client.query(`drop database ${name} with (force)`);
        return left.map(({ application, query }) => `${application || 'unnamed'} (last: ${query})`);
      });
      if (leaked.length === 0) return;
      // No test is running, so the process fails.
      console.error(`"${t.name}" left connections to its database open: ${leaked.join('; ')}`);
      process.exitCode = 1;
    },
  };
  if (!watchingExit) closeAtExit();
  watchingExit = true;
  open.add(lent);
  // Aborted after the test and its hooks.
  t.signal.addEventListener('abort', () => void lent.close(), { once: true });
  return { db, url };
}

interface Lent {
  close(): Promise<void>;
}
const open = new Set<Lent>();
let watchingExit = false;

/**
 * Closes the databases of whole files when the process would exit. node:test runs the hooks of a file at the first
 * exit, so this one is the second.
 */
function closeAtExit(): void {
  process.once('beforeExit', () => {
    setImmediate(() => {});
    process.once('beforeExit', () => {
      for (const lent of open) void lent.close();
    });
  });
}

/** Ends every connection to the database but one of this pool, which knows the others as lost when this is done. */
export async function endOtherConnections(db: Db): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, ${ENDING_MS}) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`.execute(db);
  // Their last message lies at our sockets, and a statement on one that the pool still lends would fail.
  for (let turn = 0; turn < 2; turn += 1) await immediate();
}

/** Starts a test server without fsync, of the version that is tested, removed with this process in any case. */
export async function startTestCluster(): Promise<TestCluster> {
  const dataDir = await mkdtemp(join(scratchRoot(), 'portcullis-test-'));
  // As root the server runs as another account, which must reach the folder.
  await chmod(dataDir, 0o711);
  const removed = removeWithUs(dataDir);
  const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }));
  const other = process.env[POSTGRES_VARIABLE];
  const server = await startEmbeddedPostgres({
    dataDir,
    log,
    fsync: false,
    isTestServer: true,
    ...(other !== undefined && { binaries: installedBinaries(other) }),
  });
  return {
    url: server.superuserUrl,
    async stop() {
      await server.stop();
      await removed();
    },
  };
}

let ownCluster: Promise<TestCluster> | undefined;

async function serverUrl(): Promise<string> {
  const given = process.env[SERVER_VARIABLE];
  if (given) return given;
  ownCluster ??= startTestCluster();
  return (await ownCluster).url;
}

/**
 * A shell that waits for the end of its input, which is the end of this process, and then stops the server and removes
 * the folder, also after a kill.
 */
function removeWithUs(dataDir: string): () => Promise<void> {
  const script = `
    cat >/dev/null
    file="$1/postgres/postmaster.pid"
    [ -f "$file" ] && kill -QUIT "$(head -n 1 "$file")"
    for _ in $(seq 100); do [ -f "$file" ] || break; sleep 0.05; done
    rm -rf "$1"`;
  const keeper = spawn('sh', ['-c', script, 'sh', dataDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const exited = new Promise<void>((resolve) => keeper.once('exit', () => resolve()));
  keeper.unref();
  const { stdin } = keeper;
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  return async () => {
    keeper.ref();
    stdin.end();
    await exited;
  };
}

let template: Promise<string> | undefined;

/** A migrated template database, created once per server, because migrating takes most of the time. */
async function provideTemplate(server: string): Promise<string> {
  template ??= makeTemplate(server);
  return template;
}

async function makeTemplate(server: string): Promise<string> {
  const migrations = await loadMigrations();
  // PostgreSQL truncates names to 63 characters.
  const hash = createHash('sha256')
    .update(migrations.map((one) => one.hash).join())
    .digest('hex');
  const name = `portcullis_template_${hash.slice(0, 16)}`;
  await onServer(server, async (client) => {
    // Test files start together; the first creates it under a lock of its connection.
    await client.query(`select pg_advisory_lock(hashtext('portcullis test template'))`);
    const found = await client.query('select from pg_database where datname = $1', [name]);
    if (found.rowCount !== 0) return;
    const making = `${name}_making`;
    await client.query(`drop database if exists ${making}`);
    await client.query(`create database ${making}`);
    const db = openDatabase({ url: withDatabase(server, making), poolSize: 1 });
    try {
      await migrate(db, migrations);
    } finally {
      await db.destroy();
    }
    await waitUntilUnused(client, making);
    await client.query(`alter database ${making} rename to ${name}`);
  });
  return name;
}

async function onServer<T>(server: string, ask: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: withDatabase(server, 'postgres') });
  await client.connect();
  try {
    return await ask(client);
  } finally {
    await client.end();
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

interface Session {
  readonly application: string;
  readonly query: string;
}

const ENDING_MS = 5_000;
/** A closed connection disappears from the server's list with a delay. */
const CLOSING_MS = 2_000;

async function sessionsOf(client: pg.Client, name: string): Promise<Session[]> {
  const listed = await client.query<Session>(
    `select application_name as application, left(query, 80) as query from pg_stat_activity
      where datname = $1 and backend_type = 'client backend'`,
    [name],
  );
  return listed.rows;
}

async function waitUntilUnused(client: pg.Client, name: string): Promise<Session[]> {
  const deadline = Date.now() + CLOSING_MS;
  let sessions = await sessionsOf(client, name);
  while (sessions.length > 0 && Date.now() < deadline) {
    await delay(10);
    sessions = await sessionsOf(client, name);
  }
  return sessions;
}
