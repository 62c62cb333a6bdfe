import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from '../../db/database.ts';
import type { HttpServer } from './server.ts';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const RULES = `${IP}/rules`;

test('shows only a request id for an internal error and logs its cause', async (t) => {
  const world = await startEnvironment(t);
  await sql`alter table rules rename column port to harbour`.execute(world.db);
  const reply = await world.acme.get(IP);
  const document = assertRefused(reply, 500, 'internal');
  assert.equal(document['request_id'], reply.headers.get('x-request-id'));
  assert.doesNotMatch(reply.text, /port|column|select/i);
  assert.match(world.logged(), /r\.port does not exist/);
  assert.ok(world.logged().includes(String(document['request_id'])));
});

test('answers 503 with Retry-After without a database, while /healthz succeeds', async (t) => {
  const nowhere = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/nothing' });
  t.after(() => nowhere.destroy());
  const world = await startEnvironment(t, { db: nowhere });
  for (const reply of [
    await world.acme.get(IP),
    await world.acme.post(RULES, { action: 'deny', protocol: 'any' }),
  ]) {
    assertRefused(reply, 503, 'unavailable');
    assert.equal(reply.headers.get('retry-after'), '5');
  }
  assert.equal((await fetch(`${world.url}/healthz`)).status, 200);
});

test('serves health, readiness and metrics; metrics count by operation and only on their own listener', async (t) => {
  const world = await startEnvironment(t);
  await world.acme.get(IP);
  assert.deepEqual(await (await fetch(`${world.url}/healthz`)).json(), { status: 'ok' });
  const ready = await fetch(`${world.url}/readyz`);
  assert.equal(ready.status, 200);
  assert.equal(
    ((await ready.json()) as { enforcement: { state: string } }).enforcement.state,
    'none',
  );
  const metrics = await (await fetch(world.metricsUrl)).text();
  assert.match(
    metrics,
    /portcullis_http_requests_total\{operation="readFirewallAddress",status="200"\} 1/,
  );
  assertRefused(await world.anonymous().get('/metrics'), 404, 'not_found');
  assert.equal((await fetch(world.metricsUrl.replace('/metrics', '/'))).status, 404);
});

test('readiness is read once for many who ask, and tells strangers nothing of edges and processes', async (t) => {
  let reads = 0;
  const check = { ok: true, detail: 'PostgreSQL runs as process 4711.' };
  const edge = {
    name: 'fra1',
    mode: null,
    mode_reason: null,
    fast_path: null,
    in_service: true,
    generation: 1,
    devices: [],
    problems: [],
  };
  const world = await startEnvironment(t, {
    readiness: async () => {
      reads += 1;
      return {
        database: { ok: false, detail: 'The disk of the database is full.' },
        migrations: check,
        embeddedPostgres: check,
        fleet: check,
        enforcement: { state: 'full', detail: 'One edge.', edges: [edge] },
      };
    },
  });
  const asked = await Promise.all(Array.from({ length: 50 }, () => fetch(`${world.url}/readyz`)));
  const text = await asked[0]?.text();
  assert.equal(asked[0]?.status, 503);
  assert.match(text ?? '', /disk of the database is full/);
  assert.doesNotMatch(text ?? '', /4711|fra1/);
  const full = await fetch(world.metricsUrl.replace('/metrics', '/readyz'));
  assert.match(await full.text(), /4711.*fra1/);
  // One more where the second passed meanwhile.
  assert.ok(reads <= 5, `${reads} reads for 51 requests`);
});

test('answers failed readiness with 503 and the details', async (t) => {
  const world = await startEnvironment(t, { readiness: () => Promise.reject(new Error('no')) });
  const reply = await fetch(`${world.url}/readyz`);
  assert.equal(reply.status, 503);
  assert.equal(((await reply.json()) as { status: string }).status, 'not ready');
});

test('logs every request with its operation and without keys', async (t) => {
  const world = await startEnvironment(t);
  await world.acme.get(`${IP}?key=${world.acme.authorization?.slice(7)}`);
  assert.match(world.logged(), /"operation":"readFirewallAddress"/);
  assert.doesNotMatch(world.logged(), /pcl_[0-9A-Za-z]/);
});

test('uses X-Forwarded-For only from a trusted proxy, for the audit trail and for bound keys', async (t) => {
  const trusting = {
    publicUrl: 'http://x',
    tls: null,
    metrics: null,
    listen: { host: '127.0.0.1', port: 0 },
  };
  const deny = { action: 'deny', protocol: 'any' };
  for (const [trustedProxies, forwarded, source, boundStatus] of [
    [[], '192.0.2.77', '127.0.0.1', 401],
    [['192.0.2.0/24'], '192.0.2.77', '127.0.0.1', 401],
    [['127.0.0.0/8'], '192.0.2.77', '192.0.2.77', 200],
    // The nearest hop that is no trusted proxy counts, not entries added by the client.
    [['127.0.0.0/8'], '192.0.2.77, 198.51.100.1', '198.51.100.1', 401],
    [['127.0.0.0/8', '198.51.100.1'], '203.0.113.5, 192.0.2.77, 198.51.100.1', '192.0.2.77', 200],
    [['127.0.0.0/8'], 'rubbish', null, 401],
  ] as const) {
    const world = await startEnvironment(t, { config: { ...trusting, trustedProxies } });
    const headers = { 'x-forwarded-for': forwarded };
    await world.acme.send('POST', RULES, { json: deny, headers });
    const { rows } = await sql<{ source: string | null }>`
      select host(source) as source from audit where action = 'rule.create'`.execute(world.db);
    assert.deepEqual(rows, [{ source }], forwarded);
    const bound = await world.client({ sources: ['192.0.2.77'] });
    assert.equal((await bound.get(IP, headers)).status, boundStatus, forwarded);
  }
});

test('completes pending requests when the server closes, and then stops listening', async (t) => {
  const { promise: requested, resolve: wasAsked } = Promise.withResolvers<void>();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const ok = { ok: true, detail: 'yes' };
  let server: HttpServer | undefined;
  const world = await startEnvironment(
    t,
    {
      readiness: async () => {
        wasAsked();
        await gate;
        return {
          database: ok,
          migrations: ok,
          embeddedPostgres: ok,
          fleet: ok,
          enforcement: { state: 'none', detail: '', edges: [] },
        };
      },
    },
    (started) => (server = started),
  );
  const slow = fetch(`${world.url}/readyz`);
  await requested;
  const closed = server?.close();
  open();
  assert.equal((await slow).status, 200);
  await closed;
  await assert.rejects(fetch(`${world.url}/healthz`));
});
