import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { prepareLinkFolder, prepareNodeFolder } from './root-rights.ts';
import { createAccess, type Access } from './access/index.ts';
import { type Attacks, createAttacks, sweepAttacks } from './attacks/index.ts';
import { type Collectors, createCollectors } from './collectors/index.ts';
import type { ControlConfig } from './config/config.ts';
import { type Db, openDatabase } from './db/database.ts';
import { type Account, chooseAccount } from './db/embedded/account.ts';
import { startEmbeddedPostgres } from './db/embedded/index.ts';
import { clusterOf } from './db/embedded/layout.ts';
import { isUnavailable } from './db/failure.ts';
import { listen } from './db/listen.ts';
import { loadMigrations, type Migration, migrate } from './db/migrate.ts';
import { createFirewall } from './firewall/index.ts';
import {
  createFleet,
  type Fleet,
  loadSourceSets,
  prepareSourceSets,
  releaseSourceSets,
} from './fleet/index.ts';
import { createGameServers, type GameServers } from './game-servers/index.ts';
import { createRegistry } from './http/metrics.ts';
import { createHttpServer } from './http/server.ts';
import type { HttpConfig } from './http/config.ts';
import { LINK_CHANNELS, serveLinks } from './links.ts';
import { createReadiness } from './readiness.ts';
import { StopStack } from './stop-stack.ts';

export interface ControlFacts {
  /** Where the API listens. */
  readonly url: string;
  readonly metricsUrl: string | null;
  readonly databaseUrl: string;
  /** Where edges, and where nodes, of this host meet control. */
  readonly linkSocket: string;
  readonly nodeSocket: string;
}
export interface Control {
  /** Rejects when something it needs cannot be had; then nothing of it is left running. */
  start(): Promise<ControlFacts>;
  /** In the reverse order, bounded. Also after a start that failed. */
  stop(): Promise<void>;
}

/** What a part may take to stop; the API finishes its requests in this time. */
const STOP_EACH_MS = 12_000;
/** A database that starts together with us is waited for. */
const DATABASE_PATIENCE_MS = 30_000;
const DATABASE_RETRY_MS = 250;

export interface ControlOptions {
  /**
   * Told once everything is open that needs root, when we are root: to become this account for good.
   * It changes the whole process, so only the process's own main asks for it.
   */
  readonly giveUpRoot?: (account: Account) => void;
}

/** The whole control plane: database, API, link to the edges, and what happens by itself in time. */
export function createControl(
  config: ControlConfig,
  log: Logger,
  options: ControlOptions = {},
): Control {
  const stops = new StopStack(log);
  return {
    async start() {
      try {
        return await startAll({ config, log, stops, options });
      } catch (error) {
        await stops.unwind(STOP_EACH_MS);
        throw error;
      }
    },
    stop: () => stops.unwind(STOP_EACH_MS),
  };
}

interface Start {
  readonly config: ControlConfig;
  readonly log: Logger;
  readonly stops: StopStack;
  readonly options: ControlOptions;
}

async function startAll({ config, log, stops, options }: Start): Promise<ControlFacts> {
  // Files first: once root is given up, ours may be out of reach.
  const migrations = await loadMigrations();
  await prepareSourceSets();
  stops.push('source sets', releaseSourceSets);
  const httpConfig = await readHttpConfig(config);
  const account =
    options.giveUpRoot === undefined
      ? null
      : chooseAccount(config.account ?? undefined, clusterOf(config.dataDir));
  const database = await startDatabase(config, log, stops);
  const db = openDatabase({
    url: database.url,
    onIdleError: (error) => {
      // A closed pool does not wait for its sockets, so a stopping PostgreSQL still finds some of them.
      if (!stops.unwinding) log.warn({ error }, 'a database connection broke');
    },
  });
  stops.push('database connections', () => db.destroy());
  const { access, fleet, gameServers, collectors, attacks, http } = composeAreas({
    config,
    httpConfig,
    db,
    database,
    log,
    stops,
  });
  prepareLinkFolder(config.linkSocket, account);
  prepareNodeFolder(config.nodeSocket, account);
  if (account !== null) {
    options.giveUpRoot?.(account);
    log.info({ account: account.name }, 'root was given up');
  }
  await migrateWhenReachable(db, migrations, log);
  const listening = await http.listen();
  stops.push('API', () => http.close());
  const databaseUrl = database.url;
  await startFleet({
    config,
    databaseUrl,
    db,
    access,
    fleet,
    gameServers,
    collectors,
    attacks,
    log,
    stops,
  });
  const { linkSocket, nodeSocket } = config;
  return { ...listening, databaseUrl, linkSocket, nodeSocket };
}

interface AreaGround {
  readonly config: ControlConfig;
  readonly httpConfig: HttpConfig;
  readonly db: Db;
  readonly database: RunningDatabase;
  readonly log: Logger;
  readonly stops: StopStack;
}

/** Every area and the API over them; nothing listens yet. */
function composeAreas({ config, httpConfig, db, database, log, stops }: AreaGround) {
  const registry = createRegistry();
  const { publicUrl } = config;
  const attacks = createAttacks({ db, publicUrl, registry, log });
  const watch = attacks.watching.desk;
  const fleet = createFleet({ db, registry, log, watch, sweepAttacks });
  const access = createAccess({ db, log });
  stops.push('access', () => access.stop());
  const { askEdges } = fleet;
  const firewall = createFirewall({ access, loadSourceSets, askEdges, publicUrl, registry, log });
  const readiness = createReadiness({
    db,
    enforcement: fleet.enforcement,
    postgresPid: database.pid,
  });
  const gameServers = createGameServers({ db, registry, log });
  const collectors = createCollectors({ db, registry, log, watch });
  const handlers = { ...firewall.handlers, ...gameServers.handlers, ...attacks.handlers };
  const http = createHttpServer({
    config: httpConfig,
    db,
    access,
    handlers,
    registry,
    readiness,
    log,
  });
  return { access, fleet, gameServers, collectors, attacks, http };
}

async function readHttpConfig(config: ControlConfig): Promise<HttpConfig> {
  const { listen: at, metricsListen, publicUrl, trustedProxies, tlsFiles } = config;
  const tls = tlsFiles && {
    cert: await readPem(tlsFiles.cert, 'certificate'),
    key: await readPem(tlsFiles.key, 'key'),
  };
  return { listen: at, publicUrl, trustedProxies, tls, metrics: metricsListen };
}

async function readPem(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`The TLS ${what} ${path} cannot be read`, { cause });
  }
}

interface RunningDatabase {
  readonly url: string;
  /** Of the embedded server, null while it is down; absent when the database is the operator's. */
  readonly pid?: () => number | null;
}

async function startDatabase(
  config: ControlConfig,
  log: Logger,
  stops: StopStack,
): Promise<RunningDatabase> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl };
  const postgres = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log,
    ...(config.account !== null && { account: config.account }),
  });
  stops.push('PostgreSQL', () => postgres.stop());
  return { url: postgres.url, pid: () => postgres.pid() };
}

/** A database that is not there yet is waited for; one that refuses us is not. */
async function migrateWhenReachable(
  db: Db,
  migrations: readonly Migration[],
  log: Logger,
): Promise<void> {
  const deadline = performance.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      await migrate(db, migrations);
      return;
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error;
      log.warn({ error }, 'the database does not answer yet; trying again');
      await delay(DATABASE_RETRY_MS);
    }
  }
}

interface FleetGround {
  readonly config: ControlConfig;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly access: Access;
  readonly fleet: Fleet;
  readonly gameServers: GameServers;
  readonly attacks: Attacks;
  readonly collectors: Collectors;
  readonly log: Logger;
  readonly stops: StopStack;
}

/** The links, the clockwork, and what wakes both. */
async function startFleet(ground: FleetGround): Promise<void> {
  const { databaseUrl, access, fleet, attacks, log, stops } = ground;
  const links = await serveLinks(ground);
  const clockwork = fleet.startClockwork();
  stops.push('holdings and sweeps', () => clockwork.stop());
  const mitigations = attacks.startMitigations();
  stops.push('mitigations', () => mitigations.stop());
  const { watching } = attacks;
  stops.push('detection', () => watching.stop());
  await watching.start({
    onAttack: (heard) => void mitigations.onAttack(heard),
    onScopes: (version) => links.tellWatch(version),
  });
  const listener = listen(
    databaseUrl,
    [...LINK_CHANNELS, 'portcullis_access', 'portcullis_watch', 'portcullis_samples'],
    (channel, payload) => {
      // Comes several times a second, and changes nothing else.
      if (channel === 'portcullis_samples') return watching.relayed();
      clockwork.wake();
      if (channel === 'portcullis_watch') mitigations.wake();
      if (channel === 'portcullis_watch' || channel === 'portcullis_generation') watching.wake();
      if (channel === 'portcullis_access') access.forget();
      else links.tell(channel, payload);
    },
    { onError: (error) => log.warn({ error }, 'notifications stopped; listening again') },
  );
  stops.push('notifications', () => listener.stop());
}
