import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { insertEdge, silentEvents } from '../../fleet/testing.ts';
import { serveEdges, TestEdge } from '../../fleet/test-edge.ts';
import { advanceHoldings } from '../../fleet/timers/holdings.ts';
import { listen } from '../../db/listen.ts';
import { assertRefused, dataOf, type TestClient, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '203.0.113.10';
const BLOCKED = '/api/x1/firewall/blocked';
const SOURCE = '198.51.100.7';

interface Listed {
  readonly data: readonly { source: string; target: string | null; note: string; id: number }[];
  readonly meta: { readonly count: number };
  readonly links: { readonly next: string | null };
}
const listed = async (client: TestClient): Promise<Listed> =>
  (await client.get(BLOCKED)).body as Listed;
const changed = (reply: TestReply) => {
  assert.equal(reply.status, 200, reply.text);
  const { changed, unchanged } = dataOf<{ changed: number; unchanged: number }>(reply);
  return [changed, unchanged];
};
async function verdict(client: TestClient, source: string, ip = IP): Promise<string> {
  const packet = { protocol: 'tcp', source_ip: source, destination_port: 80 };
  const reply = await client.post(`/api/x1/firewall/ips/${ip}/explain`, packet);
  const { verdict, stage } = dataOf<{ verdict: string; stage: string }>(reply);
  return `${verdict} ${stage}`;
}

test('a blocked source is dropped before every allow, until it is unblocked', async (t) => {
  const { acme } = await startEnvironment(t);
  const rule = { action: 'allow', protocol: 'tcp', destination_port: '80', source_ip: SOURCE };
  assert.equal((await acme.post(`/api/v1/firewall/ips/${IP}/rules`, rule)).status, 201);
  assert.equal(await verdict(acme, SOURCE), 'pass named-allows');
  const body = { sources: ['198.51.100.0/24', SOURCE], target: IP, note: 'scans' };
  assert.deepEqual(changed(await acme.post(BLOCKED, body)), [2, 0]);
  assert.deepEqual(changed(await acme.post(BLOCKED, body)), [0, 2]);
  assert.deepEqual(changed(await acme.post(BLOCKED, { ...body, note: 'again' })), [2, 0]);
  assert.equal(await verdict(acme, SOURCE), 'drop blocked-sources');
  assert.equal(await verdict(acme, '192.0.2.1'), 'pass default');
  assert.deepEqual(
    (await listed(acme)).data.map(({ source, target, note }) => [source, target, note]),
    [
      ['198.51.100.0/24', IP, 'again'],
      [SOURCE, IP, 'again'],
    ],
  );
  assert.deepEqual(changed(await acme.delete(BLOCKED, { sources: ['198.51.100.0/24'] })), [0, 1]);
  const off = { sources: body.sources, target: IP };
  assert.deepEqual(changed(await acme.delete(BLOCKED, off)), [2, 0]);
  assert.equal(await verdict(acme, SOURCE), 'pass named-allows');
});

test('without a target a source is blocked on everything that the organisation holds, and on nothing of others', async (t) => {
  const { acme, other } = await startEnvironment(t);
  changed(await acme.post(BLOCKED, { sources: [SOURCE] }));
  assert.equal(await verdict(acme, SOURCE), 'drop blocked-sources');
  assert.equal(await verdict(acme, SOURCE, '198.51.100.10'), 'drop blocked-sources');
  assert.deepEqual((await listed(other)).data, []);
  assertRefused(await other.post(BLOCKED, { sources: [SOURCE], target: IP }), 404, 'not_found');
});

test('a key that is bound to prefixes blocks inside them alone, and sees no others', async (t) => {
  const { acme, client } = await startEnvironment(t);
  changed(await acme.post(BLOCKED, { sources: [SOURCE] }));
  const bound = await client({ prefixes: ['203.0.113.0/28'] });
  assertRefused(await bound.post(BLOCKED, { sources: [SOURCE] }), 422, 'invalid_request');
  const outside = { sources: [SOURCE], target: '203.0.113.200' };
  assertRefused(await bound.post(BLOCKED, outside), 404, 'not_found');
  changed(await bound.post(BLOCKED, { sources: [SOURCE], target: IP }));
  assert.deepEqual(
    (await listed(bound)).data.map(({ target }) => target),
    [IP],
  );
});

test('refuses what is no network, has host bits, is every address, or is of the other family', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const source of ['198.51.100.256', '198.51.100.1/24', '0.0.0.0/0', '2001:db8::/32']) {
    const refused = await acme.post(BLOCKED, { sources: ['192.0.2.1', source], target: IP });
    assertRefused(refused, 422, 'invalid_request');
    assert.match(refused.text, /\/sources\/1/);
  }
  const past = { sources: [SOURCE], expires_at: '2020-01-01T00:00:00+00:00' };
  assertRefused(await acme.post(BLOCKED, past), 422, 'invalid_request');
  assert.equal((await listed(acme)).meta.count, 0);
});

test('concurrent calls never exceed the number that an organisation may block', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await sql`
    insert into blocked_sources (organisation_id, source, owner, created_generation)
    select 1, ('10.0.0.0'::inet + n)::cidr, 'portal', 1 from generate_series(1, 9995) n`.execute(
    db,
  );
  const calls = Array.from({ length: 4 }, (_, call) =>
    acme.post(BLOCKED, { sources: [1, 2, 3].map((n) => `192.0.2.${10 * call + n}`) }),
  );
  const statuses = (await Promise.all(calls)).map(({ status }) => status).toSorted((a, b) => a - b);
  assert.deepEqual(statuses, [200, 422, 422, 422]);
  const { meta, links } = await listed(acme);
  assert.equal(meta.count, 9998);
  assert.match(`${links.next}`, /after=1000&per_page=1000$/);
});

test('an edge gets a list with its first source; later sources change the list and no policy', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await insertEdge(db, 'a');
  const edge = new TestEdge(serveEdges(db).link, 'a', 'one');
  await edge.join();
  await acme.post(BLOCKED, { sources: [SOURCE], target: IP });
  const [first] = await edge.sync();
  assert.deepEqual(
    first?.policies.map(({ target }) => target),
    [IP],
  );
  const [name = ''] = edge.policies.get(IP)?.blocked ?? [];
  assert.deepEqual(edge.sourceSets?.sets[name], [`${SOURCE}/32`]);
  await acme.post(BLOCKED, { sources: ['198.51.100.6'], target: IP });
  const [second] = await edge.sync();
  assert.deepEqual(second?.policies, []);
  assert.deepEqual(edge.sourceSets?.sets[name], ['198.51.100.6/31']);
  await acme.delete(BLOCKED, { sources: [SOURCE, '198.51.100.6'], target: IP });
  const [last] = await edge.sync();
  assert.deepEqual(last?.removed, [IP]);
  assert.deepEqual(edge.sourceSets?.sets, {});
});

test('another end or note of a blocked source is said, and wakes what ends it', async (t) => {
  const { acme, db, databaseUrl } = await startEnvironment(t);
  const body = { sources: [SOURCE], target: IP };
  changed(await acme.post(BLOCKED, body));
  const [connected, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const listener = listen(databaseUrl, ['portcullis_holdings'], (_, payload) =>
    (payload === null ? connected : woken).resolve(),
  );
  t.after(() => listener.stop());
  await connected.promise;
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const renewed = await acme.post(BLOCKED, { ...body, expires_at: soon });
  assert.match(renewed.text, /Note and end of 1 blocked on 203\.0\.113\.\d+ are now those sent/);
  await woken.promise;
  const { rows } = await sql<{ action: string }>`
    select action from audit where action like 'source.%' order by id`.execute(db);
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['source.block', 'source.renew'],
  );
});

test('an unblocking says where its sources are still blocked', async (t) => {
  const { acme } = await startEnvironment(t);
  changed(await acme.post(BLOCKED, { sources: [SOURCE, '198.51.100.0/24'], target: IP }));
  const elsewhere = await acme.delete(BLOCKED, { sources: [SOURCE] });
  assert.equal(elsewhere.status, 200);
  assert.doesNotMatch(elsewhere.text, /it is so already/);
  assert.match(elsewhere.text, new RegExp(`is still blocked on ${IP}: name it as the target`));
  const within = await acme.delete(BLOCKED, { sources: [SOURCE], target: IP });
  assert.deepEqual(dataOf<{ still_blocked: object[] }>(within).still_blocked, [
    { source: SOURCE, by: '198.51.100.0/24', target: IP },
  ]);
  assert.match(within.text, /is still blocked as a part of 198\.51\.100\.0\/24/);
});

test('a source whose time is over is unblocked without a write', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  changed(await acme.post(BLOCKED, { sources: [SOURCE], target: IP, expires_at: soon }));
  const waitMs = await advanceHoldings(db, silentEvents());
  assert.ok(waitMs !== null && waitMs > 3_500_000 && waitMs < 3_600_100, `${waitMs}`);
  assert.equal(await verdict(acme, SOURCE), 'drop blocked-sources');
  await sql`update blocked_sources set expires_at = now() - interval '1 second'`.execute(db);
  await advanceHoldings(db, silentEvents());
  assert.equal(await verdict(acme, SOURCE), 'pass default');
  assert.equal((await listed(acme)).meta.count, 0);
});
