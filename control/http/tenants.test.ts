import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { putAttack, putEvidence } from '../attacks/detection/testing.ts';
import type { Db } from '../db/database.ts';
import { recordDrops } from '../fleet/edges/drops.ts';
import { insertEdge } from '../fleet/testing.ts';
import { addNode, addServer } from '../game-servers/testing/servers.ts';
import { dataOf, type TestClient } from '../testing/client.ts';
import { OTHER, startEnvironment, type TestEnvironment } from '../testing/fixture.ts';

/** Addresses of the other organisation: of its own prefix, and of one out of acme's prefix. */
const ADDRESSES = ['192.0.2.10', '203.0.113.200'];
/** Appears in everything of the other organisation that has a text or a number of its own. */
const MARKS = ['ofother', '4242', '198.18.42.42', ...ADDRESSES];
const RULE = { action: 'deny', protocol: 'udp', destination_port: '4242' } as const;

/** The other rows of the portal are about the person itself; control/accounts/rows.test.ts tries them. */
const OF_ORGANISATIONS = PORTAL_ENDPOINTS.filter(({ path }) => path.startsWith('/organisations/'));
/** Take no id and no address, so there is nothing of another organisation to name. */
const ONLY_OWN = new Set([
  'createKey',
  'createWebhook',
  'inviteMember',
  'renameOrganisation',
  // Its service is tried beside its handler.
  'makeGameServer',
  'findServerPlaces',
]);

interface Victim {
  /** Values that another organisation would put for each parameter of a path. */
  readonly params: Readonly<Record<string, string>>;
  readonly bodies: Readonly<Record<string, unknown>>;
}

test('no operation shows or changes anything of another organisation', async (t) => {
  const environment = await startEnvironment(t);
  const { db, acme, session } = environment;
  await sql`
    insert into members (organisation_id, person_id, role)
    select ${OTHER}, id, 'owner' from people where name = 'stranger'`.execute(db);
  for (const address of ADDRESSES) {
    const victim = await victimAt(environment, address);
    await assertVisible(environment.other, victim.params);
    const before = await contentOf(db);
    for (const [prefix, rows, caller] of [
      [V1_PREFIX, ENDPOINTS, acme],
      [X1_PREFIX, X1_ENDPOINTS, acme],
      [PORTAL_PREFIX, OF_ORGANISATIONS, session('owner')],
    ] as const) {
      for (const row of rows) {
        if ('stream' in row || ONLY_OWN.has(row.operationId)) continue;
        await tryRow(caller, prefix, row, victim);
      }
    }
    assert.deepEqual(await contentOf(db), before, address);
  }
});

async function tryRow(
  caller: TestClient,
  prefix: string,
  row: Row,
  { params, bodies }: Victim,
): Promise<void> {
  const name = `${row.method} ${row.path} (${row.operationId})`;
  const isOwn = Object.keys(row.params ?? {}).every((param) => param === 'organisation');
  const path = row.path.replaceAll(/\{(\w+)\}/g, (_, param: string) => {
    const value = params[param];
    return value ?? assert.fail(`${name}: say in this test what a stranger puts for {${param}}`);
  });
  const json = bodies[row.operationId];
  if (row.body !== undefined && json === undefined)
    assert.fail(`${name}: say in this test which body a stranger sends`);
  const reply = await caller.send(row.method, prefix + path, json === undefined ? {} : { json });
  // Microseconds may be any digits.
  const shown = reply.text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+/g, '');
  for (const mark of MARKS.filter((one) => !path.includes(one))) {
    if (JSON.stringify(json ?? '').includes(mark)) continue;
    assert.equal(shown.includes(mark), false, `${name} shows ${mark}: ${reply.text}`);
  }
  if (isOwn && json === undefined) assert.equal(reply.status, 200, `${name}: ${reply.text}`);
  else assert.equal(reply.status, 404, `${name}: ${reply.status} ${reply.text}`);
}

/** The other organisation itself sees its marks, so that their absence means something. */
async function assertVisible(other: TestClient, params: Victim['params']): Promise<void> {
  for (const [path, mark] of [
    [`${V1_PREFIX}/firewall/ips/${params['ip']}`, '4242'],
    [`${X1_PREFIX}/firewall/ips/${params['ip']}/drops`, '198.18.42.42'],
    [`${X1_PREFIX}/attacks/${params['attack']}`, '198.18.42.42'],
    [`${V1_PREFIX}/game-servers`, 'ofother'],
    [`${X1_PREFIX}/firewall/blocked`, 'ofother'],
  ] as const) {
    const { text } = await other.get(path);
    assert.ok(text.includes(mark), `${path}: ${text}`);
  }
}

/** Everything that the other organisation can have at an address. */
async function victimAt(environment: TestEnvironment, ip: string): Promise<Victim> {
  const { db, other, session } = environment;
  const isFirst = ip === ADDRESSES[0];
  const portal = session('stranger');
  const base = `${PORTAL_PREFIX}/organisations/other`;
  const noted = await portal.post(`${base}/x1/firewall/ips/${ip}/rules`, {
    rules: [{ ...RULE, note: 'ofother' }],
  });
  assert.ok(noted.status < 300, noted.text);
  const filter = { type: 'udp-stateful', port: '4242' };
  assert.equal((await other.post(`${V1_PREFIX}/firewall/ips/${ip}/filters`, filter)).status, 201);
  const group = {
    name: `ofother-${isFirst ? 1 : 2}`,
    rules: [{ ...RULE, destination_port: '4243' }],
    filters: [],
    targets: [ip],
  };
  const made = dataOf<{ id: number }>(await portal.post(`${base}/groups`, group));
  const invited = await portal.post(`${base}/invitations`, {
    email: `${isFirst ? 1 : 2}@ofother.example`,
    role: 'member',
  });
  assert.ok(invited.status < 300, invited.text);
  const geo = { action: 'deny', countries: ['XX'], asns: [4242], targets: [ip] };
  const geoRule = dataOf<{ id: number }>(await portal.post(`${base}/geo-rules`, geo));
  const hook = { name: 'ofother', url: 'https://ofother.example/', events: ['attack.opened'] };
  const { id: webhook } = dataOf<{ id: number }>(await portal.post(`${base}/webhooks`, hook));
  const uuid = await serverOf(db, isFirst ? 1 : 2);
  const attack = await putAttack(db, { subject: ip, startedAgo: 60, peakPps: 424_242 });
  await putEvidence(db, attack, { tops: { sources: [{ source: '198.18.42.42', packets: 1 }] } });
  await drops(db, ip, isFirst ? 1 : 2);
  const { rows } = await sql<
    Record<'rule' | 'filter' | 'generation' | 'member' | 'invitation' | 'key', string>
  >`
    select (select max(id) from rules)::text as rule, (select max(id) from filters)::text as filter,
           (select generation from fleet)::text as generation,
           (select id from people where name = 'stranger')::text as member,
           (select max(id) from portal_links)::text as invitation,
           (select max(id) from api_keys where organisation_id = ${OTHER})::text as key`.execute(
    db,
  );
  const [
    { rule, filter: filterId, generation, member, invitation, key } = assert.fail(
      'nothing was inserted',
    ),
  ] = rows;
  const params = {
    organisation: 'acme',
    ip,
    slice: uuid,
    address: '198.51.100.10',
    port: '20001',
    attack: String(attack),
    person: member,
    job: '0d3c0a7e-6f0e-4a35-9d5b-1f7e1f0c9b52',
    rule,
    member,
    invitation,
    key,
    group: String(made.id),
    geo_rule: String(geoRule.id),
    webhook: String(webhook),
    delivery: await deliveryOf(portal, `${base}/webhooks/${webhook}`),
  };
  const blocked = { sources: ['198.18.42.42'], target: ip, note: 'ofother' };
  assert.equal((await other.post(`${X1_PREFIX}/firewall/blocked`, blocked)).status, 200);
  const change = { ...group, name: 'mine' };
  const bodies = {
    createRules: RULE,
    deleteRules: { ids: [Number(rule)] },
    applyFilters: filter,
    deleteFilters: { ids: [Number(filterId)] },
    sendPowerSignal: { signal: 'kill' },
    sendCommand: { command: 'stop' },
    inviteToServer: { email: 'mine@acme.example', rights: ['websocket.connect'] },
    setServerRights: { rights: ['websocket.connect'] },
    addServerPort: {},
    setServerPort: {},
    changeServerSettings: { name: 'mine' },
    deleteFiles: { paths: ['world'] },
    writeFile: { content: 'mine' },
    makeFileLink: { paths: ['world'] },
    makeUploadLink: { path: 'mine', offset: 0, size: 1 },
    makeFolder: { path: 'mine' },
    moveFiles: { moves: [{ from: 'world', to: 'mine' }] },
    copyFile: { from: 'world', to: 'mine' },
    archiveFiles: { paths: ['world'], to: 'mine.zip', format: 'zip' },
    unpackFile: { path: 'world.zip' },
    pullFile: { url: 'https://example.net/map.jar', path: 'map.jar' },
    setFileModes: { files: [{ path: 'world', mode: '777' }] },
    restoreFiles: { ids: ['mhzk3q1c-1-3f0a1b2c4d5e6f70'] },
    emptyBin: {},
    replaceAddress: { rules: [], filters: [] },
    setFilterSettings: { keys: ['udp-stateful:27015'], settings: { source_pps: 200 } },
    setDefault: { target: ip, default: 'deny' },
    blockSources: { sources: ['192.0.2.77'], target: ip },
    unblockSources: { sources: ['198.18.42.42'], target: ip },
    explainPacket: { protocol: 'udp', source_ip: '198.51.100.7', destination_port: 4242 },
    dryRun: { default: 'deny' },
    saveRuleNote: { note: 'mine', tags: [] },
    addRules: { rules: [{ ...RULE, note: 'mine' }] },
    undoChange: { generation: Number(generation) },
    restoreAddress: { generation: Number(generation) },
    changeMember: { role: 'member' },
    createGroup: change,
    saveGroup: { ...change, targets: [] },
    previewNewGroup: change,
    previewGroup: { ...change, targets: [] },
    createGeoRule: geo,
    saveGeoRule: { ...geo, targets: [] },
    saveWebhook: { ...hook, name: 'mine', enabled: true },
  };
  return { params, bodies };
}

/** The id of a delivery of this webhook. */
async function deliveryOf(portal: TestClient, webhook: string): Promise<string> {
  const { id } = dataOf<{ id: number }>(await portal.send('POST', `${webhook}/test`));
  return String(id);
}

async function serverOf(db: Db, number: number): Promise<string> {
  if (number === 1) {
    await sql`insert into services (id, organisation_id, name, owner) values (902, 2, 'ofother', 'fleet')`.execute(
      db,
    );
    await addNode(db, 'node-1');
  }
  return addServer(db, { number, name: 'ofother', service: 902 });
}

async function drops(db: Db, ip: string, sequence: number): Promise<void> {
  if (sequence === 1) await insertEdge(db, 'fra1');
  const { id } = await db.selectFrom('edges').select('id').executeTakeFirstOrThrow();
  const now = Date.now();
  const cause = { stage: 'policy', reason: 'denied', by: 'nftables', target: ip } as const;
  const packet = { protocol: 17, sourcePort: 1, destinationPort: 4242, length: 60, device: 'eth0' };
  const report = {
    kind: 'edge.drops' as const,
    instance: 'i',
    sequence,
    atMs: now,
    drops: {
      sinceMs: now - 1_000,
      untilMs: now,
      entries: [{ ...cause, packets: 4242, bytes: 4242 }],
      samples: [{ ...cause, ...packet, atMs: now, source: '198.18.42.42', destination: ip }],
    },
  };
  await recordDrops(db, { id }, report, now);
}

/** The rows that a stranger could have changed. */
async function contentOf(db: Db): Promise<unknown> {
  const tables = [
    'rules',
    'filters',
    'groups',
    'geo_rules',
    'blocked_sources',
    'addresses',
    'game_servers',
    'members',
    'portal_links',
    'holdings',
    'webhooks',
    'webhook_deliveries',
  ];
  const entries = tables.map(async (table) => {
    const { rows } = await sql`select * from ${sql.table(table)} order by 1`.execute(db);
    return [table, rows] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
