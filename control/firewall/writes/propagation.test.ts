import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { TestReply } from '../../testing/client.ts';
import { testDatabase } from '../../db/testing.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { PROPAGATION, readPropagation } from './propagation.ts';

const X1 = '/api/x1/firewall';
const IP = '203.0.113.10';

const messageOf = ({ body }: TestReply): string => (body as { message: string }).message;

test('messages beyond v1 say how long it takes here, and v1 keeps the words of the interface', async (t) => {
  const { acme, db, session } = await startEnvironment(t);
  const rules = (port: number) => ({
    rules: [{ action: 'allow', protocol: 'tcp', destination_port: port }],
    filters: [],
  });
  const unknown = messageOf(await acme.put(`${X1}/ips/${IP}`, rules(80)));
  assert.match(unknown, /is not measured yet\./);
  await sql`
    insert into generations (generation, cause, created_at, live_at)
    select 1000 + n, 'test', now(), now() + n * interval '2 ms' from generate_series(1, 100) n`.execute(
    db,
  );
  await sql`update fleet set generation = 1100`.execute(db);
  const measured = /Until a change is live takes 100 ms here, at most 190 ms for 95 of 100/;
  const base = '/api/portal/organisations/acme';
  const group = { name: 'g', rules: [], filters: [], targets: [IP] };
  const replies = {
    replace: await acme.put(`${X1}/ips/${IP}`, rules(81)),
    add: await acme.post(`${X1}/ips/${IP}/rules`, {
      rules: [{ action: 'allow', protocol: 'tcp', destination_port: '82' }],
    }),
    default: await acme.put(`${X1}/defaults`, { target: IP, default: 'deny' }),
    block: await acme.post(`${X1}/blocked`, { sources: ['192.0.2.7'], target: null }),
    group: await session('owner').post(`${base}/groups`, group),
  };
  for (const [name, reply] of Object.entries(replies)) {
    assert.match(messageOf(reply), measured, `${name}: ${reply.text}`);
    assert.doesNotMatch(reply.text, /3-5 minutes/, name);
  }
  const { body } = await acme.get(`${X1}/ips/${IP}`);
  const { meta } = body as { meta: { propagation: { measured: unknown } } };
  assert.deepEqual(meta.propagation.measured, { samples: 100, median_ms: 100, p95_ms: 190 });
  const v1 = await acme.post(`/api/v1/firewall/ips/${IP}/rules`, {
    action: 'allow',
    protocol: 'udp',
    destination_port: '53',
  });
  assert.match(messageOf(v1), /Changes take 3-5 minutes to propagate globally\./);
});

test('how long changes take is read of few rows, however many changes nothing enforced', async (t) => {
  const { db } = await testDatabase(t);
  await sql`
    insert into generations (generation, cause, created_at, live_at)
    select n, 'test', now(), case when n % 2 = 0 then now() end from generate_series(1, 20000) n`.execute(
    db,
  );
  await sql`insert into generations (generation, cause, live_at) values (0, 'test', now() + interval '1 min')`.execute(
    db,
  );
  await sql`analyze generations`.execute(db);
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${PROPAGATION}`.execute(db);
  assert.match(rows.map((row) => row['QUERY PLAN']).join('\n'), /generations_measured/);
  assert.equal((await readPropagation(db))?.samples, 1);
});

test('a filter on a closed port says so where it is made', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.put(`${X1}/defaults`, { target: IP, default: 'deny' });
  const body = { rules: [], filters: [{ type: 'udp-stateful', port: '27015' }] };
  const closed = messageOf(await acme.put(`${X1}/ips/${IP}`, body));
  assert.match(
    closed,
    /Nothing reaches the filter on port 27015 now\. Closed to everyone: no rule/,
  );
  const v1 = await acme.post(`/api/v1/firewall/ips/${IP}/filters`, {
    type: 'udp-stateful',
    port: '27016',
  });
  assert.match(messageOf(v1), /Nothing reaches the filter on port 27016 now/);
  const rule = { action: 'allow', protocol: 'udp', destination_port: '27017' };
  const opened = { rules: [rule], filters: [{ type: 'udp-stateful', port: '27017' }] };
  const open = messageOf(await acme.put(`${X1}/ips/${IP}`, opened));
  assert.doesNotMatch(open, /Nothing reaches/);
});
