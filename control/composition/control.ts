import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createAccounts, releaseHashing } from '../accounts/index.ts';
import { createServerPeople } from '../server-people/index.ts';
import { createPortHandlers } from '../server-ports/index.ts';
import { createServerSettings } from '../server-settings/index.ts';
import { prepareLinkFolder, prepareNodeFolder } from '../root-rights.ts';
import { createAccess, sessionCookieName, type Access } from '../access/index.ts';
import { createAdministration } from '../operator/administration/index.ts';
import { openTracing, type Tracing } from '../tracing.ts';
import { libraryOf, SHIPPED_EGGS } from '../operator/fleet-file/read/egg-files.ts';
import { createDetection, type Detection, sweepAttacks } from '../attacks/detection/index.ts';
import { type Collectors, createCollectors } from '../attacks/collectors/index.ts';
import { type ControlConfig, ownHosts } from '../config/config.ts';
import type { Db } from '../db/database.ts';
import { type Account, chooseAccount } from '../db/embedded/account.ts';
import { startEmbeddedPostgres } from '../db/embedded/index.ts';
import { clusterOf } from '../db/embedded/data-directory.ts';
import { isUnavailable } from '../db/failure.ts';
import { connectionsOf, openPools, type Pools } from '../db/pools.ts';
import { registerDatabaseGauges } from '../db/gauges.ts';
import { createEvents, type Events, sweepEvents } from '../events/index.ts';
import { listen } from '../db/listen.ts';
import { loadMigrations, type Migration, migrateDatabase } from '../db/migrate.ts';
import { createFirewall } from '../firewall/index.ts';
import {
  createFleet,
  type Fleet,
  loadSourceSets,
  prepareSourceSets,
  releaseSourceSets,
} from '../fleet/index.ts';
import { createHistory } from '../attacks/history/index.ts';
import { createJoining } from '../operator/joining/index.ts';
import { createGameServers, type GameServers } from '../game-servers/index.ts';
import { createRegistry } from '../http/server/metrics.ts';
import { createRateLimiter, type RateLimiter, shareLimits } from '../http/operations/rate-limit.ts';
import { createHttpServer } from '../http/server/server.ts';
import type { HttpConfig, TlsConfig } from '../http/server/config.ts';
import { serveLinks } from '../links/links.ts';
import { CHANNELS, wake } from '../notifications.ts';
import { createMail } from '../mail/index.ts';
import { savePublicUrl } from '../public-url.ts';
import { createReadiness } from '../readiness.ts';
import { startResponse } from '../attacks/response/index.ts';
import { createSelfService } from '../self-service/index.ts';
import { sftpHandlers, SftpLogins } from '../sftp/index.ts';
import { StopStack } from '../stop-stack.ts';
import type { AutomaticTls } from '../tls-auto/automatic-tls.ts';
import { createWebhooks, type Webhooks } from '../webhooks/index.ts';

export interface ControlFacts {
  /** Where the API listens. */
  readonly url: string;
  readonly metricsUrl: string | null;
  readonly databaseUrl: string;
  /** Unix sockets for edges and nodes of this host. */
  readonly linkSocket: string;
  readonly nodeSocket: string;
}
export interface Control {
  /** Rejects, with nothing left running, when something that it needs is unavailable. */
  start(): Promise<ControlFacts>;
  /** Stops all parts in reverse order, each within a time limit. May be called after a failed start. */
  stop(): Promise<void>;
}

/** Time limit for stopping one part; the API finishes its requests in this time. */
const STOP_EACH_MS = 12_000;
/** How long to wait for a database that starts at the same time. */
const DATABASE_TIMEOUT_MS = 30_000;
const DATABASE_RETRY_MS = 250;
/** Old rows that the fleet's sweeps delete for other areas. */
const OTHER_SWEEPS = { attacks: sweepAttacks, events: sweepEvents };

export interface ControlOptions {
  /**
   * Called as root once everything that needs root is open; switches to this account permanently.
   * It changes the whole process, so only the process's own main sets it.
   */
  readonly giveUpRoot?: (account: Account) => void;
  /** Whether the fleet file of this start is applied. Default: there is none. */
  readonly isFleetApplied?: () => boolean;
  /** Called when a backup was restored: control must stop, and start anew. */
  readonly onRestored?: () => void;
}

/** The whole control plane: database, API, links to agents, and timers. */
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
  // Reads files first: they may be unreadable after dropping root.
  const migrations = await loadMigrations();
  await prepareSourceSets();
  stops.push('source sets', releaseSourceSets);
  stops.push('hashing', releaseHashing);
  const account =
    options.giveUpRoot === undefined
      ? null
      : chooseAccount(config.account ?? undefined, clusterOf(config.dataDir));
  const files = await readTlsFiles(config);
  const database = await startDatabase(config, log, stops);
  const pools = openPools({
    url: database.url,
    poolSize: config.databasePool,
    onIdleError: (error) => {
      // A closed pool does not wait for its sockets, so a stopping PostgreSQL may still break some of them.
      if (!stops.unwinding) log.warn({ error }, 'a database connection broke');
    },
  });
  for (const pool of Object.values(pools)) {
    stops.push('database connections', () => pool.destroy());
  }
  const tlsAuto = await openAutomaticTls(config, account, log, stops);
  const httpConfig = httpConfigOf(config, files ?? tlsAuto);
  const { isFleetApplied = () => true } = options;
  const tracing = await openTracing(process.env);
  if (tracing !== null) stops.push('traces', () => tracing.stop());
  const deps = { config, httpConfig, pools, database, log, stops, isFleetApplied, tracing };
  const areas = composeAreas(deps);
  const { http } = areas;
  // The account that root is dropped for may not change the tables of an embedded server.
  if (database.pid !== undefined) await migrateWhenReachable(database, config, migrations, log);
  prepareFolders(config, account, log);
  const listen = async () => {
    stops.push('API', () => http.close());
    return http.listen();
  };
  // Requests wait for the database then: only root may have these ports.
  const early = account !== null && isPrivileged(config.listen.port) ? await listen() : null;
  if (account !== null) {
    options.giveUpRoot?.(account);
    log.info({ account: account.name }, 'dropped root privileges');
  }
  if (database.pid === undefined) await migrateWhenReachable(database, config, migrations, log);
  const listening = early ?? (await listen());
  tlsAuto?.start((current) => http.renew(current));
  const databaseUrl = database.url;
  const { onRestored = () => {} } = options;
  await startFleet({ ...areas, config, databaseUrl, db: pools.agents, log, stops, onRestored });
  const { linkSocket, nodeSocket } = config;
  return { ...listening, databaseUrl, linkSocket, nodeSocket };
}

/** Makes what only root may make. */
function prepareFolders(
  { dataDir, publicUrl, linkSocket, nodeSocket }: ControlConfig,
  account: Account | null,
  log: Logger,
): void {
  prepareLinkFolder(linkSocket, account);
  prepareNodeFolder(nodeSocket, account);
  // Only commands that print links read it, so control starts without it too.
  try {
    savePublicUrl(dataDir, publicUrl);
  } catch (error) {
    log.info({ error }, 'the public URL could not be kept: commands need --url');
  }
}

interface AreaDeps {
  readonly config: ControlConfig;
  readonly httpConfig: HttpConfig;
  readonly pools: Pools;
  readonly database: RunningDatabase;
  readonly log: Logger;
  readonly stops: StopStack;
  readonly isFleetApplied: () => boolean;
  readonly tracing: Tracing | null;
}

function startAccess({ config, pools, log, stops }: AreaDeps): Access {
  const sessionCookie = sessionCookieName(config.publicUrl);
  const access = createAccess({ db: pools.operators, log, sessionCookie });
  stops.push('access', () => access.stop());
  return access;
}

/** Creates every area and the API; nothing listens yet. */
function composeAreas(deps: AreaDeps) {
  const { config, httpConfig, pools, database, log, isFleetApplied, tracing } = deps;
  const { agents: db } = pools;
  const registry = openRegistry(deps);
  const { publicUrl, webhookNetworks: networks } = config;
  const detection = createDetection({ db, registry, log });
  const { service: watch } = detection;
  const onLive = tracing?.live;
  const fleet = createFleet({ db, registry, log, watch, otherSweeps: OTHER_SWEEPS, onLive });
  const access = startAccess(deps);
  const { queryEdges, enforcement } = fleet;
  const firewall = createFirewall({ loadSourceSets, queryEdges, publicUrl, registry, log });
  const readiness = createReadiness({ db, enforcement, postgresPid: database.pid, isFleetApplied });
  const gameServers = gameServersOf(deps, registry);
  const collectors = createCollectors({ db, registry, log, watch });
  const mail = startMail(deps, registry);
  const events = createEvents({ db: pools.api });
  const webhooks = createWebhooks({ db, networks, ownHosts: ownHosts(config), registry, log });
  const handlers = {
    ...firewall.handlers,
    ...gameServers.handlers,
    ...createHistory({ publicUrl }).handlers,
    ...createAccounts({ publicUrl, mail }).handlers,
    ...sftpHandlers(),
    ...createPortHandlers(),
    ...createServerPeople({ publicUrl, mail }).handlers,
    ...createServerSettings({ gameServers, library: libraryOf(SHIPPED_EGGS) }).handlers,
    ...administrationOf(config, webhooks, gameServers).handlers,
    ...createSelfService(libraryOf(SHIPPED_EGGS)).handlers,
    ...createJoining().handlers,
    ...events.handlers,
    ...webhooks.handlers,
  };
  const rateLimiter = createRateLimiter();
  const http = createHttpServer({
    rateLimiter,
    tracing,
    config: httpConfig,
    db: pools.api,
    operatorDb: pools.operators,
    access,
    handlers,
    serveStream: gameServers.serveStream,
    registry,
    readiness,
    log,
  });
  const agents = { fleet, gameServers, collectors, detection };
  return { ...agents, access, events, webhooks, http, registry, rateLimiter };
}

function openRegistry({ config, pools }: AreaDeps): Registry {
  const registry = createRegistry();
  registerDatabaseGauges(registry, pools.agents, config.dataDir);
  return registry;
}

function startMail({ config, log, stops }: AreaDeps, registry: Registry) {
  const mail = config.mail && createMail({ config: config.mail, log, registry });
  if (mail !== null) stops.push('mail', () => mail.stop());
  return mail;
}

function gameServersOf({ config, pools, log }: AreaDeps, registry: Registry): GameServers {
  const { agents: db } = pools;
  const replicaUrl = () => config.replicaUrl;
  return createGameServers({ db, registry, log, sftp: new SftpLogins(db), replicaUrl });
}

function administrationOf(
  { publicUrl, enforceCommand, program }: ControlConfig,
  { fetchText }: Webhooks,
  { images: nodeImages }: GameServers,
): ReturnType<typeof createAdministration> {
  const own = { publicUrl, enforceCommand, program };
  return createAdministration({ ...own, eggs: SHIPPED_EGGS, fetchText, nodeImages });
}

/** Ports below it are root's. */
const FIRST_FREE_PORT = 1_024;

function isPrivileged(port: number): boolean {
  return port > 0 && port < FIRST_FREE_PORT;
}

async function openAutomaticTls(
  { tlsAuto, dataDir, publicUrl }: ControlConfig,
  account: Account | null,
  log: Logger,
  stops: StopStack,
): Promise<AutomaticTls | null> {
  if (tlsAuto === null) return null;
  const { AutomaticTls, prepareTlsFolder } = await import('../tls-auto/automatic-tls.ts');
  const folder = join(dataDir, 'tls');
  prepareTlsFolder(folder, account);
  const opened = await AutomaticTls.open({ ...tlsAuto, folder, publicUrl, log });
  stops.push('certificate', () => opened.stop());
  return opened;
}

async function readTlsFiles({ tlsFiles }: ControlConfig): Promise<TlsConfig | null> {
  if (tlsFiles === null) return null;
  return {
    cert: await readPem(tlsFiles.cert, 'certificate'),
    key: await readPem(tlsFiles.key, 'key'),
  };
}

function httpConfigOf(config: ControlConfig, tls: TlsConfig | AutomaticTls | null): HttpConfig {
  const { listen: at, metricsListen, publicUrl, trustedProxies } = config;
  const served = tls !== null && 'config' in tls ? tls.config : tls;
  return { listen: at, publicUrl, trustedProxies, tls: served, metrics: metricsListen };
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
  /** Process id of the embedded server, null while it is down; absent for a database of the operator. */
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
    pool: connectionsOf(config.databasePool),
    log,
    ...(config.account !== null && { account: config.account }),
  });
  stops.push('PostgreSQL', () => postgres.stop());
  return { url: postgres.url, pid: () => postgres.pid() };
}

/** Waits for a database that is not reachable yet. Fails at once when it refuses the connection. */
async function migrateWhenReachable(
  { url }: RunningDatabase,
  { migrationUrl }: ControlConfig,
  migrations: readonly Migration[],
  log: Logger,
): Promise<void> {
  const deadline = performance.now() + DATABASE_TIMEOUT_MS;
  const onBusy = () => log.warn('tables are in use, so the migration waits; replicas serve on');
  for (;;) {
    try {
      await migrateDatabase({ url, migrationUrl }, migrations, onBusy);
      return;
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadline) throw error;
      log.warn({ error }, 'the database does not answer yet; retrying');
      await delay(DATABASE_RETRY_MS);
    }
  }
}

interface FleetDeps {
  readonly config: ControlConfig;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly access: Access;
  readonly fleet: Fleet;
  readonly gameServers: GameServers;
  readonly detection: Detection;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly collectors: Collectors;
  readonly rateLimiter: RateLimiter;
  readonly registry: Registry;
  readonly log: Logger;
  readonly stops: StopStack;
  readonly onRestored: () => void;
}

/** Starts the links and the timers, and wakes them from database notifications. */
async function startFleet(deps: FleetDeps): Promise<void> {
  const { databaseUrl, access, fleet, gameServers, detection, events, webhooks, log, stops } = deps;
  const links = await serveLinks(deps);
  if (links.relay !== null) stops.push('limits', shareLimits(deps.rateLimiter, links.relay));
  const timers = fleet.startTimers();
  stops.push('holdings and sweeps', () => timers.stop());
  stops.push('lost nodes', gameServers.startTimers());
  const mitigations = startResponse(deps);
  stops.push('mitigations', () => mitigations.stop());
  const deliveries = webhooks.startDeliveries();
  stops.push('webhooks', () => deliveries.stop());
  stops.push('detection', () => detection.stop());
  await detection.start({
    onAttack: (attack) => void mitigations.onAttack(attack),
    onScopes: (version) => links.announceWatch(version),
    relay: links.relay,
  });
  const { onRestored } = deps;
  const woken = { access, deliveries, events, links, mitigations, timers, detection, onRestored };
  const listener = listen(
    databaseUrl,
    CHANNELS,
    (channel, payload) => wake(woken, channel, payload),
    { onError: (error) => log.warn({ error }, 'notifications stopped; listening again') },
  );
  stops.push('notifications', () => listener.stop());
}
