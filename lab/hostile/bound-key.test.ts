import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { putAttack } from '@portcullis/control/attacks/detection/testing.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { dataOf, type TestClient, type TestReply } from '@portcullis/control/testing/client.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

/** All that the key may reach, and an address of the same organisation that it may not. */
const BOUND_TO = '203.0.113.0/28';
const OUTSIDE = '203.0.113.100';
const RULE = { action: 'deny', protocol: 'udp', destination_port: '4242' } as const;
/** Appears in everything that is at the address. */
const MARKS = [OUTSIDE, '4242', '198.18.42.42'];

/** Bodies that name the address, or nothing, which is all that the organisation holds. */
const BODIES: Readonly<Record<string, readonly object[]>> = {
  createRules: [RULE],
  deleteRules: [{ ids: [1] }],
  applyFilters: [{ type: 'udp-stateful', port: '4243' }],
  deleteFilters: [{ ids: [1] }],
  addRules: [{ rules: [RULE] }],
  replaceAddress: [{ rules: [], filters: [] }],
  setFilterSettings: [{ keys: ['udp-stateful:4242'], settings: { source_pps: 200 } }],
  setDefault: [
    { target: OUTSIDE, default: 'allow' },
    { target: '203.0.113.0/24', default: 'deny' },
    { target: '203.0.113.0/27', default: 'deny' },
  ],
  blockSources: [
    { sources: ['198.18.42.43'], target: OUTSIDE },
    { sources: ['198.18.42.43'], target: '203.0.113.0/24' },
    { sources: ['198.18.42.43'] },
  ],
  unblockSources: [
    { sources: ['198.18.42.42'], target: OUTSIDE },
    { sources: ['198.18.42.42'], target: '203.0.113.0/24' },
    { sources: ['198.18.42.42'] },
  ],
  explainPacket: [{ protocol: 'udp', source_ip: '198.51.100.7', destination_port: 9 }],
  dryRun: [{ default: 'deny' }],
};
/** Where another address than that of the path could be named. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  listAttacks: ['', `?ip=${OUTSIDE}`, '?prefix=203.0.113.0/24'],
  listFilters: [''],
};
/** Characters that the key itself, and of game servers, which other bounds of a key are about. */
const ELSEWHERE = new Set(['readCaller', 'streamEvents']);
const ROWS = [
  ...ENDPOINTS.map((row) => ({ prefix: V1_PREFIX, row: row as Row })),
  ...X1_ENDPOINTS.map((row) => ({ prefix: X1_PREFIX, row: row as Row })),
].filter(({ row }) => !ELSEWHERE.has(row.operationId) && !row.path.startsWith('/game-servers'));

test('a key that is bound to a prefix reads and changes nothing outside of it, by any operation', async (t) => {
  const { acme, client, db } = await startEnvironment(t);
  const attack = await fill(acme, db);
  const bound = await client({ prefixes: [BOUND_TO] });
  const before = await contentOf(db);
  let refused = 0;
  let narrowed = 0;
  for (const { prefix, row } of ROWS) {
    const path = prefix + row.path.replace('{ip}', OUTSIDE).replace('{attack}', String(attack));
    for (const { query, json } of requestsOf(row)) {
      const what = `${row.method} ${path}${query} ${JSON.stringify(json)}`;
      const reply = await send(bound, row, path + query, json);
      assertHidden(reply, `${path}${query}${JSON.stringify(json)}`, what);
      const isList = reply.status === 200 && !path.includes(OUTSIDE) && row.method === 'GET';
      assert.ok(isList || reply.status === 404 || reply.status === 422, `${what}: ${reply.text}`);
      if (isList) narrowed += 1;
      else refused += 1;
    }
  }
  assert.deepEqual(await contentOf(db), before);
  assert.ok(refused >= 20 && narrowed >= 3, `${refused} refused, ${narrowed} narrowed`);
  // The key of the whole organisation does each of these, so that a refusal is because of the bound.
  for (const { prefix, row } of ROWS) {
    const path = prefix + row.path.replace('{ip}', OUTSIDE).replace('{attack}', String(attack));
    for (const { query, json } of requestsOf(row)) {
      const reply = await send(acme, row, path + query, json);
      assert.notEqual(reply.status, 404, `${row.operationId} of the whole: ${reply.text}`);
    }
  }
});

interface Request {
  readonly query: string;
  readonly json: object | undefined;
}

function requestsOf(row: Row): Request[] {
  const bodies = BODIES[row.operationId];
  if (row.body !== undefined && bodies === undefined)
    assert.fail(`${row.operationId}: say in this test which bodies name an address`);
  const json = bodies ?? [undefined];
  const queries = QUERIES[row.operationId] ?? [''];
  return queries.flatMap((query) => json.map((one) => ({ query, json: one })));
}

function send(
  client: TestClient,
  { method }: Row,
  path: string,
  json: object | undefined,
): Promise<TestReply> {
  return client.send(method, path, json === undefined ? {} : { json });
}

function assertHidden(reply: TestReply, sent: string, what: string): void {
  const shown = reply.text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+/g, '');
  for (const mark of MARKS.filter((one) => !sent.includes(one)))
    assert.ok(!shown.includes(mark), `${what} shows ${mark}: ${reply.text}`);
}

/** Something of every kind at the address; an attack's id. */
async function fill(acme: TestClient, db: Db): Promise<number> {
  const v1 = `${V1_PREFIX}/firewall/ips/${OUTSIDE}`;
  dataOf(await acme.post(`${v1}/rules`, RULE));
  dataOf(await acme.post(`${v1}/filters`, { type: 'udp-stateful', port: '4242' }));
  const blocked = `${X1_PREFIX}/firewall/blocked`;
  dataOf(await acme.post(blocked, { sources: ['198.18.42.42'], target: OUTSIDE }));
  dataOf(await acme.post(blocked, { sources: ['198.18.42.42'] }));
  const change = { target: OUTSIDE, default: 'deny' };
  dataOf(await acme.put(`${X1_PREFIX}/firewall/defaults`, change));
  return putAttack(db, { subject: OUTSIDE, startedAgo: 60, peakPps: 424_242 });
}

async function contentOf(db: Db): Promise<unknown> {
  const tables = ['rules', 'filters', 'blocked_sources', 'addresses', 'holdings'];
  const entries = tables.map(async (table) => {
    const { rows } = await sql`select * from ${sql.table(table)} order by 1`.execute(db);
    return [table, rows] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
