import { lstatSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { chooseAccount } from './account.ts';
import { provideBinaries } from './binaries.ts';
import { provideCluster } from './cluster.ts';
import { lockDirectory } from './directory-lock.ts';
import { clusterOf, prepareDataDir, prepareLayout, socketUrl } from './layout.ts';
import {
  adoptPostmaster,
  type Ground,
  launchPostmaster,
  type Postmaster,
  stopPostmaster,
} from './postmaster.ts';
import { runningPostmaster } from './postmaster-file.ts';
import {
  CONTROL_ROLE,
  controlUrl,
  provideDatabase,
  SUPERUSER,
  writeAuthentication,
} from './roles.ts';
import { takeOver } from './take-over.ts';

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
}

export interface EmbeddedPostgres {
  /** The URL of the database, as the role that reads and writes rows; constant across restarts. */
  readonly url: string;
  /** The same as the superuser. */
  readonly superuserUrl: string;
  /** Whether a running server of a killed control process was adopted. */
  readonly adopted: boolean;
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
 * Starts PostgreSQL under `dataDir` or adopts the running one, and restarts it until stopped. Throws with a reason if
 * the directory is in use, of another version, or inaccessible to the account.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = chooseAccount(options.account, clusterOf(options.dataDir));
  const dataDir = prepareDataDir(options.dataDir, account);
  const lock = lockDirectory(dataDir, account);
  try {
    if (await takeOver(dataDir, account)) {
      options.log.warn(
        { account: account?.name },
        'the data directory belongs to this account now',
      );
    }
    const layout = prepareLayout(dataDir, account);
    const binaries = provideBinaries(dataDir, account);
    const ground: Ground = {
      layout,
      binaries,
      account,
      fsync: options.fsync ?? true,
      pool: options.pool ?? 10,
    };
    provideCluster(layout, binaries, account, ground.fsync);
    const accountRole = options.isTestServer === true ? 'all' : CONTROL_ROLE;
    writeAuthentication(layout, account, accountRole);
    const first = (await adoptPostmaster(ground)) ?? (await launchPostmaster(ground));
    options.log.info({ pid: first.pid, adopted: first.adopted }, 'PostgreSQL runs');
    await provideDatabase(layout).catch(async (error: unknown) => {
      await stopPostmaster(first);
      throw error;
    });
    const supervisor = supervise(ground, first, options.log);
    let stopped: Promise<void> | undefined;
    return {
      url: controlUrl(layout),
      superuserUrl: socketUrl(layout.socketDir, 'portcullis', SUPERUSER),
      adopted: first.adopted,
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
  const running = runningPostmaster(clusterOf(dataDir));
  return running === null ? null : controlUrl(running);
}

function supervise(
  ground: Ground,
  first: Postmaster,
  log: Logger,
): { pid(): number | null; stop(): Promise<void> } {
  const stopping = new AbortController();
  let current: Postmaster | null = first;
  const watching = watch();

  async function watch(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (current !== null) {
      const startedAt = performance.now();
      await current.exited;
      current = null;
      if (performance.now() - startedAt > HEALTHY_MS) retryMs = FIRST_RETRY_MS;
      while (current === null && !stopping.signal.aborted) {
        log.error({ retryMs }, 'PostgreSQL is gone; starting it again');
        await delay(retryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
        current = await restart();
      }
    }
  }

  async function restart(): Promise<Postmaster | null> {
    if (stopping.signal.aborted) return null;
    try {
      const postmaster = await launchPostmaster(ground, stopping.signal);
      if (stopping.signal.aborted) {
        await stopPostmaster(postmaster);
        return null;
      }
      log.info({ pid: postmaster.pid }, 'PostgreSQL runs again');
      return postmaster;
    } catch (err) {
      log.error({ err }, 'PostgreSQL could not be started');
      return null;
    }
  }

  return {
    pid: () => current?.pid ?? null,
    async stop() {
      stopping.abort();
      if (current !== null) await stopPostmaster(current);
      await watching;
    },
  };
}
