import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { chooseAccount } from './account.ts';
import { type Binaries, provideBinaries } from './binaries.ts';
import { provideCluster } from './cluster.ts';
import {
  clusterOf,
  lockDirectory,
  prepareDataDir,
  prepareLayout,
  socketUrl,
  takeOver,
} from './data-directory.ts';
import {
  CONTROL_ROLE,
  controlUrl,
  provideDatabase,
  ROLES,
  SUPERUSER,
  writeAuthentication,
} from './roles.ts';
import { launchServer, runningServer, type ServerOptions, stopServer } from './server.ts';

export interface EmbeddedOptions {
  /** The data directory, created if missing. The cluster is its folder `postgres`. */
  readonly dataDir: string;
  /** The account of the server if started as root; default: see `chooseAccount`. */
  readonly account?: string;
  readonly log: Logger;
  /** Connections that control may open; more are kept for commands. Default 10. */
  readonly pool?: number;
  /** The account becomes any role, also after root is dropped: tests create databases. */
  readonly isTestServer?: boolean;
  /** Default true. False loses data on a power failure: tests only. */
  readonly fsync?: boolean;
  /** Default: those of the npm package. Tests run on other versions. */
  readonly binaries?: Binaries;
}

export interface EmbeddedPostgres {
  /** The URL of the database, as the role that reads and writes rows; constant across restarts. */
  readonly url: string;
  /** The same as the superuser. */
  readonly superuserUrl: string;
  /** The pid of the server. Null while it restarts. */
  pid(): number | null;
  /** Shuts the server down. Idempotent. */
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** After this uptime the restart backoff is reset. */
const HEALTHY_MS = 30_000;

/**
 * Starts PostgreSQL under `dataDir`, and restarts it until stopped. A server that a killed control process left is
 * stopped first. Throws with a reason if the directory is in use, of another version, or inaccessible to the account.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, fsync = true, pool = 10, isTestServer = false } = options;
  const account = chooseAccount(options.account, clusterOf(options.dataDir));
  const dataDir = prepareDataDir(options.dataDir, account);
  const lock = lockDirectory(dataDir, account);
  try {
    await stopServer(clusterOf(dataDir));
    if (takeOver(dataDir, account))
      log.warn({ account: account?.name }, 'the data directory belongs to this account now');
    const layout = prepareLayout(dataDir, account);
    const binaries = options.binaries ?? provideBinaries(dataDir, account);
    provideCluster(layout, binaries, account, fsync);
    writeAuthentication(layout, account, isTestServer ? ROLES : [CONTROL_ROLE]);
    const supervisor = await supervise({ layout, binaries, account, fsync, pool }, log);
    await provideDatabase(layout).catch(async (error: unknown) => {
      await supervisor.stop();
      throw error;
    });
    let stopped: Promise<void> | undefined;
    return {
      url: controlUrl(layout),
      superuserUrl: socketUrl(layout.socketDir, 'portcullis', SUPERUSER),
      pid: supervisor.pid,
      stop: () => (stopped ??= supervisor.stop().finally(() => lock.release())),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Whether a data directory contains a cluster, as far as it is readable. */
export function mayHaveEmbeddedPostgres(dataDir: string): boolean {
  try {
    return lstatSync(clusterOf(dataDir)).isDirectory();
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** The URL of the running server of a data directory. Null if none runs. */
export function findEmbeddedPostgres(dataDir: string): string | null {
  const running = runningServer(clusterOf(dataDir));
  return running === null ? null : controlUrl(running);
}

/** Starts a server, and again after it ended, until stopped. Throws if the first start fails. */
async function supervise(
  options: ServerOptions,
  log: Logger,
): Promise<{ pid(): number | null; stop(): Promise<void> }> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
    exitCode === null && signalCode === null;
  let child: ChildProcess | null = await launchServer(options);
  log.info({ pid: child.pid }, 'PostgreSQL runs');
  const watching = watch();

  async function watch(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      const startedAt = performance.now();
      if (child !== null && isRunning(child)) await once(child, 'exit');
      child = null;
      if (performance.now() - startedAt > HEALTHY_MS) retryMs = FIRST_RETRY_MS;
      if (signal.aborted) return;
      log.error({ retryMs }, 'PostgreSQL is gone; starting it again');
      await delay(retryMs, undefined, { signal, ref: false }).catch(() => {});
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      try {
        child = await launchServer(options, signal);
        log.info({ pid: child.pid }, 'PostgreSQL runs again');
      } catch (err) {
        if (!signal.aborted) log.error({ err }, 'PostgreSQL could not be started');
      }
    }
  }

  return {
    pid: () => child?.pid ?? null,
    async stop() {
      stopping.abort();
      // Its exit is awaited below, and nothing else may keep this process alive until then.
      child?.ref();
      // Also where the directory, which names the server, was removed.
      child?.kill('SIGINT');
      await stopServer(options.layout.cluster);
      await watching;
    },
  };
}
