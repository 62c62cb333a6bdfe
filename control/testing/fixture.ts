import { libraryOf, SHIPPED_EGGS } from '../operator/fleet-file/read/egg-files.ts';
import { sql } from 'kysely';
import { createAdministration } from '../operator/administration/index.ts';
import { createAccounts, releaseHashing } from '../accounts/index.ts';
import { createServerPeople } from '../server-people/index.ts';
import { createPortHandlers } from '../server-ports/index.ts';
import { createSelfService } from '../self-service/index.ts';
import { createServerSettings } from '../server-settings/index.ts';
import { sftpHandlers, SftpLogins } from '../sftp/index.ts';
import { createJoining } from '../operator/joining/index.ts';
import { createHistory } from '../attacks/history/index.ts';
import { type Access, createAccess, createKey } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import { testDatabase } from '../db/testing.ts';
import { createEvents, type Events } from '../events/index.ts';
import { createFirewall } from '../firewall/index.ts';
import type { QueryEdges } from '../fleet/index.ts';
import { loadSourceSets, releaseSourceSets } from '../fleet/policies/source-sets.ts';
import { createMemoryLink, type MemoryLink } from '@portcullis/link/transport/memory.ts';
import type { Registry } from 'prom-client';
import { createLogger, type Logger } from '../log.ts';
import { createGameServers, type GameServers } from '../game-servers/index.ts';
import type { Timeouts } from '../game-servers/nodes/calls.ts';
import { createWebhooks } from '../webhooks/index.ts';
import { createRegistry } from '../http/server/metrics.ts';
import type { RateLimiter } from '../http/operations/rate-limit.ts';
import { createHttpServer, type HttpDeps, type HttpServer } from '../http/server/server.ts';
import { createSessionClient, createTestClient, type TestClient } from './client.ts';
import { seedPeople, type TestPerson, tokenOf } from './people.ts';

/** The test environment of the API: two organisations, their holdings, a listening server. */
export interface TestEnvironment {
  readonly db: Db;
  readonly databaseUrl: string;
  /** Streams; a test that needs them at once passes notifications on to it. */
  readonly events: Events;
  readonly access: Access;
  readonly url: string;
  readonly metricsUrl: string;
  /** The link for nodes. */
  readonly nodes: MemoryLink;
  /** A key of acme with every ability and the default limits. */
  readonly acme: TestClient;
  /** A key of the other organisation. */
  readonly other: TestClient;
  /** A signed-in person with this role in acme, or an operator. */
  session(person: TestPerson): TestClient;
  /** A client with a new key. */
  client(options?: KeyOptions): Promise<TestClient>;
  /** A client without a key or with a wrong one. */
  anonymous(authorization?: string): TestClient;
  /** The server's log as text. */
  logged(): string;
}

export interface KeyOptions {
  /** Null: a key of the operator. */
  readonly organisationId?: number | null;
  readonly abilities?: readonly string[];
  readonly prefixes?: readonly string[];
  readonly servers?: readonly string[];
  readonly managedServers?: readonly string[];
  /** The allowed source addresses of the key; absent means any. */
  readonly sources?: readonly string[];
}

export const ACME = 1;
export const OTHER = 2;
export const ALL_ABILITIES = [
  'firewall.read',
  'firewall.manage',
  'attacks.read',
  'game-servers.read',
  'game-servers.manage',
  'game-servers.files',
  'game-servers.settings',
  'game-servers.create',
];

/** How long calls of nodes wait, which answer in tests however busy the machine is. */
const PATIENT: Timeouts = { readMs: 6_000, instructMs: 8_000 };
/** For tests of nodes that do not answer. */
export const IMPATIENT: Timeouts = { readMs: 300, instructMs: 3_000 };

type Test = Parameters<typeof testDatabase>[0] & { after(stop: () => Promise<void>): void };

interface Overrides extends Partial<HttpDeps> {
  readonly nodeTimeouts?: Timeouts;
}

/** A busy machine must not decide whether a test sends more in a moment than a caller may. */
const UNLIMITED: RateLimiter = {
  take: () => ({ ratelimit: '"key";r=1;t=1', 'ratelimit-policy': '"key";q=1;w=1' }),
  takeUsage: () => ({}),
  spend: () => {},
};

/**
 * Starts the test environment for one test and stops it afterwards. It counts no requests: tests of the limits give it
 * `createRateLimiter()`.
 */
export async function startEnvironment(
  t: Test,
  { nodeTimeouts: timeouts = PATIENT, ...overrides }: Overrides = {},
  onServer: (server: HttpServer) => void = () => {},
  queryEdges: QueryEdges = async () => new Map(),
): Promise<TestEnvironment> {
  const { db, url: databaseUrl } = await testDatabase(t);
  const events = createEvents({ db });
  await seed(db);
  await seedPeople(db, ACME);
  const { log, logged } = recordingLog();
  const access = createAccess({ db, log });
  const registry = createRegistry();
  const sftp = new SftpLogins(db);
  let url = '';
  const replicaUrl = () => url;
  const gameServers = createGameServers({ db, registry, log, sftp, replicaUrl, timeouts });
  const nodes = createMemoryLink(gameServers.agentHandler, gameServers.admit);
  gameServers.useLink(nodes.control);
  const ground = { db, events, access, log, queryEdges, registry, gameServers };
  const server = createHttpServer({ ...serverDeps(ground), ...overrides });
  onServer(server);
  const listening = await server.listen();
  const { metricsUrl } = listening;
  ({ url } = listening);
  t.after(async () => {
    await server.close();
    await nodes.control.close();
    await access.stop();
    await releaseSourceSets();
    await releaseHashing();
  });
  const client = async (options: KeyOptions = {}) =>
    createTestClient(url, `Bearer ${await makeKey(db, options)}`);
  return {
    db,
    databaseUrl,
    events,
    access,
    url,
    metricsUrl: metricsUrl ?? '',
    nodes,
    session: (person) => createSessionClient(url, tokenOf(person)),
    acme: await client(),
    other: await client({ organisationId: OTHER }),
    client,
    anonymous: (authorization) => createTestClient(url, authorization ?? null),
    logged,
  };
}

/** A log, and its text so far. */
function recordingLog(): { readonly log: Logger; readonly logged: () => string } {
  let lines = '';
  const destination = { write: (line: string) => void (lines += line) };
  return { log: createLogger({ level: 'debug', destination }), logged: () => lines };
}

interface HttpParts {
  readonly db: Db;
  readonly events: Events;
  readonly access: Access;
  readonly log: Logger;
  readonly queryEdges: QueryEdges;
  readonly registry: Registry;
  readonly gameServers: GameServers;
}

const ADMINISTRATION = {
  enforceCommand: './portcullis up --enforce',
  program: './portcullis',
  eggs: SHIPPED_EGGS,
} as const;

const GOOD = { ok: true, detail: 'As it should be.' };
const READY: Awaited<ReturnType<HttpDeps['readiness']>> = {
  database: GOOD,
  migrations: GOOD,
  embeddedPostgres: GOOD,
  fleet: GOOD,
  enforcement: { state: 'none', detail: 'Nothing is enforced.', edges: [] },
};

function peopleHandlers(publicUrl: string, gameServers: GameServers) {
  return {
    ...createAccounts({ publicUrl, mail: null }).handlers,
    ...sftpHandlers(),
    ...createPortHandlers(),
    ...createServerPeople({ publicUrl, mail: null }).handlers,
    ...createSelfService(libraryOf(SHIPPED_EGGS)).handlers,
    ...createServerSettings({ gameServers, library: libraryOf(SHIPPED_EGGS) }).handlers,
  };
}

function serverDeps({
  db,
  events,
  access,
  log,
  queryEdges,
  registry,
  gameServers,
}: HttpParts): HttpDeps {
  const publicUrl = 'https://portcullis.example';
  const firewall = createFirewall({ loadSourceSets, queryEdges, publicUrl, registry, log });
  const history = createHistory({ publicUrl });
  const webhooks = createWebhooks({ db, networks: [], registry, log });
  return {
    config: {
      listen: { host: '127.0.0.1', port: 0 },
      publicUrl,
      trustedProxies: [],
      tls: null,
      metrics: { host: '127.0.0.1', port: 0 },
    },
    db,
    access,
    rateLimiter: UNLIMITED,
    handlers: {
      ...firewall.handlers,
      ...gameServers.handlers,
      ...history.handlers,
      ...peopleHandlers(publicUrl, gameServers),
      ...createJoining().handlers,
      ...createAdministration({
        ...ADMINISTRATION,
        publicUrl,
        fetchText: webhooks.fetchText,
        nodeImages: gameServers.images,
      }).handlers,
      ...events.handlers,
      ...webhooks.handlers,
    },
    serveStream: gameServers.serveStream,
    registry,
    readiness: async () => READY,
    log,
  };
}

async function makeKey(db: Db, options: KeyOptions): Promise<string> {
  const key = {
    organisationId: options.organisationId === undefined ? ACME : options.organisationId,
    name: 'test',
    abilities: options.abilities ?? ALL_ABILITIES,
    prefixes: options.prefixes ?? null,
    servers: options.servers ?? null,
    managedServers: options.managedServers ?? null,
    sources: options.sources ?? null,
    owner: 'portal' as const,
  };
  const actor = { kind: 'system' as const, name: 'test', source: null, requestId: null };
  const made = await db.transaction().execute((tx) => createKey(tx, key, actor));
  return made.secret;
}

/**
 * acme announces 203.0.113.0/24 and 2001:db8::/32 and has 198.51.100.10 for service 501; the other
 * organisation announces 192.0.2.0/24, and 203.0.113.128/25 out of acme's prefix.
 */
async function seed(db: Db): Promise<void> {
  await sql`
    insert into organisations (slug, name, flags, owner) values
      ('acme', 'Acme Hosting', '{firewall_api,attack_history_api}', 'fleet'),
      ('other', 'Other', '{firewall_api,attack_history_api}', 'fleet'),
      ('plain', 'Plain', '{}', 'fleet')`.execute(db);
  await sql`insert into asns values (64500, 1, 'fleet'), (64501, 2, 'fleet')`.execute(db);
  await sql`insert into services (id, organisation_id, name, owner) values (501, 1, 'survival-1', 'fleet')`.execute(
    db,
  );
  await sql`
    insert into holdings (organisation_id, cidr, during, asn, service_id, owner) values
      (1, '203.0.113.0/24', '[2026-01-01 00:00+00,)', 64500, null, 'fleet'),
      (1, '2001:db8::/32', '[2026-01-01 00:00+00,)', 64500, null, 'fleet'),
      (1, '198.51.100.10/32', '[2026-01-01 00:00+00,)', null, 501, 'fleet'),
      (2, '192.0.2.0/24', '[2026-01-01 00:00+00,)', 64501, null, 'fleet'),
      (2, '203.0.113.128/25', '[2026-01-01 00:00+00,)', 64501, null, 'fleet')`.execute(db);
}
