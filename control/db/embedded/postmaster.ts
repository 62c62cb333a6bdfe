import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Account, giveTo, spawnAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import { CLEAN_ENVIRONMENT } from './cluster.ts';
import { type Layout, PORT, socketUrl } from './layout.ts';
import { hasServerProcess, removeLeftovers, runningPostmaster } from './postmaster-file.ts';
import { isRunning, sendSignal } from './process-table.ts';
import { CONTROL_ROLE, SUPERUSER } from './roles.ts';

/** A running server: a child, or one adopted from an earlier control process. */
export interface Postmaster {
  readonly pid: number;
  readonly adopted: boolean;
  /** Resolves when the server is gone. */
  readonly exited: Promise<void>;
  /** Keeps this process alive until the server is gone. */
  hold(): void;
}

export interface Ground {
  readonly layout: Layout;
  readonly binaries: Binaries;
  readonly account: Account | null;
  /** Off in tests only. */
  readonly fsync: boolean;
  /** Connections that control may open. */
  readonly pool: number;
}

/** For commands, migrations and the notifications of control. */
const COMMAND_CONNECTIONS = 50;
const POLL_MS = 50;
const WATCH_MS = 200;
/** A crashed server first replays its log. */
const READY_TIMEOUT_MS = 600_000;
const ADOPT_TIMEOUT_MS = 60_000;
const ORPHANS_TIMEOUT_MS = 10_000;
/** The timeout of each shutdown mode before the next, harder one. */
const SHUTDOWN_STEPS: readonly { name: NodeJS.Signals; waitMs: number }[] = [
  { name: 'SIGINT', waitMs: 30_000 },
  { name: 'SIGQUIT', waitMs: 10_000 },
  { name: 'SIGKILL', waitMs: 10_000 },
];
const LOG_ROTATE_BYTES = 5_000_000;

/** Adopts the running server of an earlier control process. Null if there is none. */
export async function adoptPostmaster(ground: Ground): Promise<Postmaster | null> {
  const { cluster, socketDir } = ground.layout;
  const found = runningPostmaster(cluster);
  if (found === null) return null;
  const postmaster = watchStranger(found.pid);
  // It may have been started with an earlier map of accounts to roles.
  sendSignal(found.pid, 'SIGHUP');
  const fits =
    found.socketDir === socketDir &&
    (await waitUntilReady(ground, ADOPT_TIMEOUT_MS, () => isRunning(found.pid)));
  if (fits) return postmaster;
  // Another version, a lost socket or no answer: start a new server.
  await stopPostmaster(postmaster);
  return null;
}

/** Starts a server and waits until it answers or `signal` aborts. */
export async function launchPostmaster(ground: Ground, signal?: AbortSignal): Promise<Postmaster> {
  const { cluster, socketDir } = ground.layout;
  const deadline = Date.now() + ORPHANS_TIMEOUT_MS;
  while (hasServerProcess(cluster) && Date.now() < deadline) await delay(POLL_MS);
  removeLeftovers(cluster, socketDir);
  const { child, logFrom } = await spawnServer(ground);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const postmaster = ownChild(child, exited);
  let gone = false;
  void exited.then(() => {
    gone = true;
  });
  try {
    const wanted = (): boolean => !gone && signal?.aborted !== true;
    if (await waitUntilReady(ground, READY_TIMEOUT_MS, wanted)) return postmaster;
  } catch (error) {
    await stopPostmaster(postmaster);
    throw error;
  }
  if (!gone) await stopPostmaster(postmaster);
  const said = readFileSync(ground.layout.logFile, 'utf8').slice(logFrom).trim();
  throw new Error(`PostgreSQL did not start: ${said || 'it said nothing'}`);
}

function ownChild(child: ChildProcess, exited: Promise<void>): Postmaster {
  child.unref();
  return { pid: child.pid ?? 0, adopted: false, exited, hold: () => child.ref() };
}

/** Polls a server that is no child of this process. */
export function watchStranger(pid: number): Postmaster {
  let timer: NodeJS.Timeout | undefined;
  const exited = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      if (isRunning(pid)) return;
      clearInterval(timer);
      resolve();
    }, WATCH_MS).unref();
  });
  return { pid, adopted: true, exited, hold: () => timer?.ref() };
}

async function spawnServer(ground: Ground): Promise<{ child: ChildProcess; logFrom: number }> {
  const { layout, binaries, account } = ground;
  const size = statSync(layout.logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_ROTATE_BYTES) rotate(layout.logFile);
  const output = openSync(layout.logFile, 'a', 0o600);
  giveTo(account, layout.logFile);
  try {
    const child = spawn(binaries.postgres, ['-D', layout.cluster, ...settings(ground)], {
      ...spawnAs(account),
      cwd: layout.cluster,
      env: CLEAN_ENVIRONMENT,
      // A file instead of a pipe, because the server outlives this process.
      stdio: ['ignore', output, output],
      // An own session: Ctrl-C in a terminal must not reach the server.
      detached: true,
    });
    await once(child, 'spawn');
    return { child, logFrom: statSync(layout.logFile).size };
  } finally {
    closeSync(output);
  }
}

/** After dropping root the folder may be read-only, but not the file. */
function rotate(logFile: string): void {
  try {
    renameSync(logFile, `${logFile}.1`);
  } catch {
    truncateSync(logFile);
  }
}

function settings({ layout, fsync, pool }: Ground): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '',
    port: PORT,
    unix_socket_directories: layout.socketDir.replaceAll(',', '\\,'),
    // The map of accounts decides; root needs no permission.
    unix_socket_permissions: '0700',
    // Tests have a database and a pool per file.
    max_connections: fsync ? pool + COMMAND_CONNECTIONS : 200,
    shared_buffers: '64MB',
    max_wal_size: '512MB',
    checkpoint_timeout: '15min',
    timezone: 'UTC',
    // Failed statements are logged by their sender; this log is for the server itself.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    log_timezone: 'UTC',
    ...(fsync ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Whether the cluster answered on its socket in the right version before the deadline. */
async function waitUntilReady(
  ground: Ground,
  timeoutMs: number,
  alive: () => boolean,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (alive() && Date.now() < deadline) {
    const answer = await askServer(ground);
    if (answer !== null) {
      return (
        answer.cluster === ground.layout.cluster &&
        ground.binaries.version.startsWith(`${answer.version}.`)
      );
    }
    await delay(POLL_MS);
  }
  return false;
}

async function askServer({
  layout,
  account,
}: Ground): Promise<{ cluster: string; version: string } | null> {
  // After root is dropped, the account may be this role only.
  const hasDroppedRoot = account !== null && process.getuid?.() !== 0;
  const role = hasDroppedRoot ? CONTROL_ROLE : SUPERUSER;
  const client = new pg.Client({
    connectionString: socketUrl(layout.socketDir, 'postgres', role),
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const asked = await client.query<{ cluster: string; version: string }>(
      `select current_setting('data_directory') as cluster, current_setting('server_version') as version`,
    );
    return asked.rows[0] ?? null;
  } catch {
    // Not started yet, or replaying its log.
    return null;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Shuts down: fast (rollback and checkpoint), then immediate, then SIGKILL. */
export async function stopPostmaster(postmaster: Postmaster): Promise<void> {
  postmaster.hold();
  for (const step of SHUTDOWN_STEPS) {
    if (!sendSignal(postmaster.pid, step.name)) return;
    const waiting = new AbortController();
    const late = delay(step.waitMs, 'late', { signal: waiting.signal }).catch(() => 'late');
    const outcome = await Promise.race([postmaster.exited.then(() => 'exited'), late]);
    waiting.abort();
    if (outcome === 'exited') return;
  }
  throw new Error(`PostgreSQL (pid ${postmaster.pid}) does not stop.`);
}
