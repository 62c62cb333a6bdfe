import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Account, giveTo, spawnAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import { CLEAN_ENVIRONMENT } from './cluster.ts';
import { type Layout, PORT, socketFiles } from './data-directory.ts';

export interface ServerOptions {
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
const POLL_MS = 20;
/** A crashed server first replays its log. */
const READY_TIMEOUT_MS = 600_000;
/** Processes of a killed server end by themselves within this time. */
const CHILDREN_TIMEOUT_MS = 10_000;
/** Fast (rollback and checkpoint), then immediate, then SIGKILL. */
const SHUTDOWN_STEPS = [
  ['SIGINT', 30_000],
  ['SIGQUIT', 10_000],
  ['SIGKILL', 10_000],
] as const;
const LOG_ROTATE_BYTES = 5_000_000;

interface RunningServer {
  readonly pid: number;
  readonly socketDir: string;
  readonly isReady: boolean;
}

/**
 * The running server of a cluster, of the lines of postmaster.pid. Its working directory is compared, because pids are
 * reused: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/utils/pidfile.h
 */
export function runningServer(cluster: string): RunningServer | null {
  let lines: string[];
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  const pid = Number(lines[0]);
  if (!worksIn(pid, statSync(cluster))) return null;
  return { pid, socketDir: lines[4]?.trim() ?? '', isReady: lines[7]?.trim() === 'ready' };
}

/** Whether any process of a server of this cluster runs; children of a killed one live for a moment. */
export function hasServerProcess(cluster: string): boolean {
  if (!existsSync(cluster)) return false;
  const folder = statSync(cluster);
  return readdirSync('/proc').some((name) => worksIn(Number(name), folder));
}

/**
 * A zombie has no working directory, so it does not count as running. The folder itself is compared: in the mount
 * namespace of a service its path may be another.
 */
function worksIn(pid: number, folder: Stats): boolean {
  try {
    const { dev, ino } = statSync(`/proc/${pid}/cwd`);
    return (
      dev === folder.dev &&
      ino === folder.ino &&
      readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres'
    );
  } catch {
    return false;
  }
}

/** Stops the server of a cluster, also one that another process started. Returns at once if none runs. */
export async function stopServer(cluster: string): Promise<void> {
  for (const [signal, timeoutMs] of SHUTDOWN_STEPS) {
    const running = runningServer(cluster);
    if (running !== null) sendSignal(running.pid, signal);
    if (await waitUntilGone(cluster, timeoutMs)) return;
  }
  throw new Error(`The PostgreSQL of ${cluster} does not stop.`);
}

async function waitUntilGone(cluster: string, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (hasServerProcess(cluster)) {
    if (Date.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Starts a server and waits until it accepts connections. It does not keep this process alive. Throws with the server's
 * own words if it ends, and if `signal` aborts.
 */
export async function launchServer(
  options: ServerOptions,
  signal?: AbortSignal,
): Promise<ChildProcess> {
  const { cluster, socketDir, logFile } = options.layout;
  await waitUntilGone(cluster, CHILDREN_TIMEOUT_MS);
  signal?.throwIfAborted();
  // PostgreSQL removes them itself, except if the pid is a zombie or was reused.
  for (const file of [join(cluster, 'postmaster.pid'), ...socketFiles(socketDir)]) {
    rmSync(file, { force: true });
  }
  const logFrom = prepareLog(logFile);
  const child = await spawnServer(options);
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null) {
    const running = runningServer(cluster);
    if (signal?.aborted === true || Date.now() > deadline) child.kill('SIGQUIT');
    else if (running?.pid === child.pid && running?.isReady === true) return child;
    await delay(POLL_MS);
  }
  const output = readFileSync(logFile, 'utf8').slice(logFrom).trim();
  throw new Error(`PostgreSQL did not start: ${output || 'it said nothing'}`);
}

/** Rotates a long log. Returns where the output of the next server begins. */
function prepareLog(logFile: string): number {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= LOG_ROTATE_BYTES) return size;
  try {
    renameSync(logFile, `${logFile}.1`);
  } catch {
    // After root was dropped the folder may be read-only, but not the file.
    truncateSync(logFile);
  }
  return 0;
}

async function spawnServer(options: ServerOptions): Promise<ChildProcess> {
  const { layout, binaries, account } = options;
  const output = openSync(layout.logFile, 'a', 0o600);
  try {
    giveTo(account, layout.logFile);
    const child = spawn(binaries.postgres, ['-D', layout.cluster, ...settings(options)], {
      ...spawnAs(account),
      cwd: layout.cluster,
      env: CLEAN_ENVIRONMENT,
      // A file instead of a pipe, because the server outlives this process.
      stdio: ['ignore', output, output],
      // An own session: Ctrl-C in a terminal must not reach the server.
      detached: true,
    });
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

function settings({ layout, fsync, pool }: ServerOptions): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '',
    port: PORT,
    // A list, whose quoted entries may hold a comma.
    unix_socket_directories: `"${layout.socketDir.replaceAll('"', '""')}"`,
    // The map of accounts decides; root needs no permission.
    unix_socket_permissions: '0700',
    // Tests have a database and a pool per file.
    max_connections: fsync ? pool + COMMAND_CONNECTIONS : 200,
    // Transactions take their locks in one order (locks.ts); what still meets must not wait for a second.
    deadlock_timeout: '200ms',
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
