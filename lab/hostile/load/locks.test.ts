import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { putAttack } from '@portcullis/control/attacks/detection/testing.ts';
import { lockInstallation } from '@portcullis/control/db/locks.ts';
import { recordHeartbeat } from '@portcullis/control/game-servers/nodes/store.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { advanceHoldings } from '@portcullis/control/fleet/timers/holdings.ts';
import { answerOnce } from '@portcullis/control/http/operations/idempotency.ts';
import { dataOf, type TestClient } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';

const IP = '198.51.100.10';
const FURTHER = '203.0.113.10';

/** Pairs that CI tries, of the thousands there are; at night all. */
const PAIRS = repeated(2_000);

/** The rows of people, links and sessions are about the person, and lock nothing of an organisation. */
const ROWS: readonly { readonly prefix: string; readonly row: Row; readonly who: Who }[] = [
  ...ENDPOINTS.map((row) => ({ prefix: V1_PREFIX, row, who: 'key' as const })),
  ...X1_ENDPOINTS.map((row) => ({ prefix: X1_PREFIX, row, who: 'key' as const })),
  ...PORTAL_ENDPOINTS.filter(({ path }) => path.startsWith('/organisations/')).map((row) => {
    return { prefix: PORTAL_PREFIX, row, who: 'owner' as const };
  }),
  ...OPERATOR_ENDPOINTS.map((row) => ({ prefix: OPERATOR_PREFIX, row, who: 'operator' as const })),
].filter(({ row }) => row.write === true);

type Who = 'key' | 'owner' | 'operator';
/** The body of the `n`th request of a row. */
type Bodies = Readonly<Record<string, (n: number) => unknown>>;

const rule = (n: number) => ({ action: 'deny', protocol: 'udp', destination_port: `${n}` });
const named = { action: 'allow', protocol: 'udp', destination_port: 'server 1:query' };
const group = (n: number, targets = [IP, '203.0.113.0/28']) => {
  return { name: `group ${n}`, rules: [rule(n + 20_000)], filters: [], targets };
};
const geo = (n: number) => {
  return { action: 'deny', countries: ['XX'], asns: [n], targets: [IP, '203.0.113.0/24'] };
};
const hook = (n: number) => {
  return { name: `hook ${n}`, url: 'https://hooks.example/', events: ['attack.opened'] };
};
const server = (n: number) => ({
  organisation: 'acme',
  service: 501,
  name: `made ${n}`,
  egg: 'eggs/flying-squid.json',
  limits: { memory: 64, cpu: 1, disk: 64 },
});

const EGG_DOCUMENT = {
  meta: { version: 'PTDL_v2' },
  name: 'Own',
  docker_images: { main: '~own' },
  startup: 'run',
};

const BODIES: Bodies = {
  createRules: rule,
  deleteRules: (n) => ({ ids: [n] }),
  applyFilters: (n) => ({ type: 'source', port: `${n}` }),
  deleteFilters: (n) => ({ keys: [`source:${n - 1}`] }),
  replaceAddress: (n) => ({ rules: [named, rule(n)], filters: [] }),
  addRules: (n) => ({ rules: [{ ...rule(n + 10_000), note: 'x' }] }),
  setFilterSettings: () => ({ keys: ['source:9'], settings: { source_pps: 200 } }),
  setDefault: (n) => ({ target: n % 2 ? IP : '203.0.113.0/24', default: n % 3 ? 'deny' : null }),
  blockSources: (n) => ({ sources: [`192.0.2.${n % 250}`], ...(n % 2 && { target: IP }) }),
  unblockSources: (n) => ({ sources: [`192.0.2.${n % 250}`], ...(n % 2 && { target: IP }) }),
  changeMember: () => ({ role: 'member' }),
  inviteMember: (n) => ({ email: `${n}@acme.example`, role: 'member' }),
  inviteToServer: (n) => ({ email: `${n}@friends.example`, rights: ['control.restart'] }),
  setServerRights: (n) => ({ rights: [n % 2 ? 'control.restart' : 'control.start'] }),
  addServerPort: () => ({}),
  setServerPort: (n) => ({ protocols: [n % 2 ? 'tcp' : 'udp'] }),
  changeServerSettings: (n) => ({ name: `renamed ${n}`, stop_seconds: n % 60 }),
  renameOrganisation: (n) => ({ name: `Acme ${n}` }),
  saveRuleNote: (n) => ({ note: `note ${n}`, tags: [] }),
  undoChange: (n) => ({ generation: 1 + (n % 5) }),
  restoreAddress: (n) => ({ generation: 1 + (n % 5) }),
  createGroup: group,
  saveGroup: (n) => group(n, n % 2 ? [IP] : ['203.0.113.0/28', FURTHER]),
  createGeoRule: geo,
  saveGeoRule: geo,
  createKey: (n) => ({ name: `key ${n}`, abilities: ['firewall.read'] }),
  createWebhook: hook,
  saveWebhook: (n) => ({ ...hook(n), enabled: true }),
  saveOrganisation: () => ({ name: 'Acme' }),
  changeOrganisation: (n) => ({ thresholds: { pps: 1_000 + n } }),
  saveAsn: () => ({ organisation: 'acme' }),
  changeAsn: (n) => ({ organisation: n % 2 ? 'acme' : null }),
  saveService: (n) => ({
    name: `service ${n}`,
    managed_filters: n % 2 ? [{ type: 'tcp-syn-proxy', ports: null }] : [],
  }),
  changeService: (n) => ({ active: n % 2 === 0 }),
  createHolding: (n) => ({ prefix: `203.0.113.${n % 250}/32`, asn: 64_500 }),
  saveHolding: (n) => ({ prefix: '203.0.113.0/24', asn: 64_500, mitigation: n % 2 ? 'on' : 'off' }),
  changeHolding: () => ({ until: '2999-01-01T00:00:00+00:00' }),
  createOrganisationKey: (n) => ({ name: `panel ${n}`, abilities: ['game-servers.read'] }),
  saveOrganisationKey: (n) => ({ name: `panel ${n}`, abilities: ['firewall.read'] }),
  changeOrganisationKey: (n) => ({ name: `panel ${n}` }),
  saveFirewallGroup: () => ({ rules: [], filters: [], addresses: [IP] }),
  changeFirewallGroup: (n) => ({ addresses: n % 2 ? [IP] : [] }),
  createFirewallGeoRule: () => ({ action: 'deny', countries: ['AQ'], addresses: [IP] }),
  saveFirewallGeoRule: () => ({ action: 'deny', countries: ['BV'], addresses: [IP] }),
  changeFirewallGeoRule: (n) => ({ addresses: n % 2 ? [IP] : [FURTHER] }),
  saveBlockedList: (n) => ({ sources: [{ source: `192.0.2.${n % 250}` }] }),
  changeBlockedList: (n) => ({ sources: [{ source: `192.0.2.${n % 250}` }] }),
  saveLibraryEgg: (n) => ({ document: EGG_DOCUMENT, offered: n % 2 === 0 }),
  changeLibraryEgg: (n) => ({ offered: n % 2 === 0 }),
  makeGameServer: (n) => {
    const { organisation: _, service: _s, ...own } = server(n);
    return own;
  },
  createServer: server,
  saveServer: (n) => ({ ...server(n), node: 'node-1', allocation: { ip: IP, port: 40_000 + n } }),
  changeServer: (n) => ({ limits: { memory: 64 + (n % 9), cpu: 1, disk: 64 } }),
  saveEdge: () => ({ devices: ['eth0'] }),
  changeEdge: (n) => ({ site: `site ${n}` }),
  changeNode: (n) => ({ memory: 65_536 + n }),
  changeCollector: (n) => ({ site: `site ${n}` }),
  saveBaseline: (n) => ({ rules: [{ action: 'deny', protocol: 'udp', destination_port: n + 1 }] }),
  changeBaseline: (n) => ({
    rules: [{ action: 'deny', protocol: 'tcp', destination_port: n + 1 }],
  }),
  saveResponder: () => ({ webhook: 'https://192.0.2.1/' }),
  changeResponder: (n) => ({ timeout_seconds: 1 + (n % 60) }),
  saveNode: () => ({ memory: 65_536, addresses: [IP] }),
  saveCollector: () => ({
    listen: '0.0.0.0:6343',
    exporters: [{ ip: '192.0.2.1', prefixes: 'all' }],
  }),
  createJoinCommand: () => ({}),
  approveHosts: () => ({ fingerprint: '1b9f-02c4-77de-a310-5c88-f0e2-94ab-6d13' }),
};

/** End what the others stand on. */
const ENDING = new Set(['removeOrganisation']);

interface Operation {
  readonly name: string;
  readonly run: (n: number) => Promise<number>;
}

/** Every row that writes, and what the fleet writes by itself. */
async function operationsOf(environment: TestEnvironment): Promise<readonly Operation[]> {
  const { db, client, session } = environment;
  const abilities = ['operator.read', 'operator.manage'];
  const clients: Readonly<Record<Who, TestClient>> = {
    key: await client(),
    owner: session('owner'),
    operator: await client({ organisationId: null, abilities }),
  };
  const params = await prepare(environment, clients.owner);
  const rows = ROWS.filter(({ row }) => !ENDING.has(row.operationId)).map(
    ({ prefix, row, who }): Operation => ({
      name: row.operationId,
      async run(n) {
        const path = row.path.replaceAll(/\{(\w+)\}/g, (_, param: string) => params(param, n));
        const body = BODIES[row.operationId];
        assert.ok(row.body === undefined || body !== undefined, `say a body of ${row.operationId}`);
        const json = body?.(n);
        const request = json === undefined ? {} : { json };
        const reply = await clients[who].send(row.method, prefix + path, request);
        assert.ok(reply.status < 500, `${row.operationId}: ${reply.text}`);
        assert.notEqual(reply.status, 429, reply.text);
        return reply.status;
      },
    }),
  );
  const instance = 'i';
  await sql`update nodes set instance = ${instance}`.execute(db);
  const heartbeat = async (): Promise<number> => {
    await recordHeartbeat(db, {
      name: 'node-1',
      instance,
      engine: {
        kind: 'docker',
        version: '1',
        problem: null,
        host: null,
        mounts: [],
        fileLinks: false,
      },
      builds: [],
      purged: [],
      sftp: null,
    });
    return 200;
  };
  const timers = async (): Promise<number> => {
    await advanceHoldings(db, { holdingsMoved: () => {} } as never);
    return 200;
  };
  return [...rows, { name: 'heartbeat', run: heartbeat }, { name: 'timers', run: timers }];
}

/** Objects of each kind, of which each request names one; more than there are to be deleted. */
async function prepare({ db, acme }: TestEnvironment, owner: TestClient) {
  const base = `${PORTAL_PREFIX}/organisations/acme`;
  await addNode(db, 'node-1');
  const uuid = await addServer(db, { number: 1, name: 'server 1' });
  const ports = [{ ip: IP, port: 20_001, protocols: ['udp'], variable: null, name: 'query' }];
  await sql`
    update game_servers set open_while_running = true, port_limit = 64, ports = ${JSON.stringify(ports)}::jsonb`.execute(
    db,
  );
  const attack = await putAttack(db, { subject: IP, startedAgo: 60, peakPps: 1_000 });
  for (const ip of [IP, FURTHER]) {
    dataOf(await acme.post(`${V1_PREFIX}/firewall/ips/${ip}/filters`, BODIES['applyFilters']?.(9)));
  }
  dataOf(await acme.put(`${X1_PREFIX}/firewall/ips/${IP}`, { rules: [named], filters: [] }));
  const idsOf = async (path: string, body: (n: number) => unknown): Promise<number[]> => {
    const ids: number[] = [];
    for (let n = 1; n <= 12; n += 1) {
      ids.push(dataOf<{ id: number }>(await owner.post(base + path, body(n))).id);
    }
    return ids;
  };
  const ids: Readonly<Record<string, readonly (number | string)[]>> = {
    group: await idsOf('/groups', (n) => group(n + 500, [])),
    geo_rule: await idsOf('/geo-rules', (n) => ({ ...geo(n + 500), targets: [] })),
    key: await idsOf('/keys', (n) => ({ name: `k${n}`, abilities: ['firewall.read'] })),
    ip: [IP, FURTHER],
    rule: [1, 2, 3],
    id: [1, 3, 6, 7, 8, 501],
    webhook: [dataOf<{ id: number }>(await owner.post(`${base}/webhooks`, hook(500))).id, 9],
  };
  const fixed: Readonly<Record<string, string>> = {
    organisation: 'acme',
    slug: 'acme',
    slice: uuid,
    uuid,
    attack: String(attack),
    asn: '64500',
    kind: 'nodes',
    address: IP,
    port: '25565',
  };
  return (param: string, n: number): string => {
    const list = ids[param] ?? [];
    return fixed[param] ?? String(list[n % Math.max(1, list.length)] ?? 999_999);
  };
}

test('every two writes at once on one organisation end without a deadlock', async (t) => {
  // All of them in work at once: their shares would keep them apart.
  const shares = { run: <T>(_: unknown, serve: () => Promise<T>) => serve(), running: 0 };
  const environment = await startEnvironment(t, { shares });
  const { db } = environment;
  await sql`
    update organisations set requests_per_minute = 1000000, rules_per_ip = 10000, filters_per_ip = 10000`.execute(
    db,
  );
  const operations = await operationsOf(environment);
  assert.ok(operations.length > 50, `${operations.length}`);
  const done = new Map<string, number>();
  let n = 0;
  const run = async ({ name, run: send }: Operation): Promise<void> => {
    n += 1;
    const status = await send(n);
    if (status < 400) done.set(name, (done.get(name) ?? 0) + 1);
  };
  const pairs = operations.flatMap((one, at) => operations.slice(at).map((other) => [one, other]));
  // Several pairs at once: as many as there are connections, and all on the same rows.
  const rest = pairs.toSorted((a, b) => hashOf(a) - hashOf(b)).slice(0, PAIRS);
  const worker = async (): Promise<void> => {
    for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
      await Promise.all(pair.map(run));
    }
  };
  await Promise.all([worker(), worker(), worker(), worker(), worker()]);
  const { rows } = await sql<{ deadlocks: number }>`
    select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()`.execute(
    db,
  );
  assert.equal(rows[0]?.deadlocks, 0);
  assert.ok(done.size > 35, `only ${[...done.keys()].join(', ')} did anything`);
});

/** A mixed order that is the same in every run. */
function hashOf(pair: readonly Operation[]): number {
  const text = Buffer.from(pair.map(({ name }) => name).join(' '));
  return text.reduce((hash, letter) => (hash * 31 + letter) % 1_000_003, 7);
}

test('no Idempotency-Key is chosen to take a lock of the installation', async (t) => {
  const { db } = await startEnvironment(t);
  const request = {
    keyId: 7,
    method: 'POST',
    path: '/api/v1/firewall/ips/203.0.113.10/rules',
    // Found in 0.2 s: hashtextextended() of key, method, path and this is the number of the installation's lock.
    idempotencyKey: 'xQ,:9:`@Y9D$',
    bodyHash: Buffer.alloc(32),
  };
  const done = { status: 200, headers: {}, payload: Buffer.from('{}') };
  await db.transaction().execute(async (operator) => {
    await lockInstallation(operator);
    const reply = await db
      .transaction()
      .execute((tenant) => answerOnce(tenant, request, async () => done));
    assert.equal(reply.status, 200);
  });
});
