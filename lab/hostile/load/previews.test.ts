import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { dataOf } from '@portcullis/control/testing/client.ts';
import { ACME, startEnvironment } from '@portcullis/control/testing/fixture.ts';

const IP = '203.0.113.10';
const X1 = `/api/x1/firewall/ips/${IP}`;
const PORTAL = '/api/portal/organisations/acme';
const TRIED = {
  rules: [{ action: 'deny', protocol: 'tcp', destination_port: '20000' }],
  filters: [{ type: 'source', port: '21000' }],
  default: 'deny',
};
const GROUP = {
  name: 'web',
  rules: [{ action: 'deny', protocol: 'udp', destination_port: '19' }],
  filters: [],
  targets: [IP, '203.0.113.0/28'],
};

test('what changes nothing waits for no writer, and no writer for it', async (t) => {
  const { acme, session, db } = await startEnvironment(t);
  const admin = session('admin');
  // The address has a row, so that a write would lock it.
  dataOf(await acme.post(`/api/v1/firewall/ips/${IP}/rules`, { ...TRIED.rules[0] }));
  const { id } = dataOf<{ id: number }>(
    await admin.post(`${PORTAL}/groups`, { ...GROUP, name: 'there', targets: [] }),
  );
  const tried = { ...TRIED, rules: [{ ...TRIED.rules[0], destination_port: '20001' }] };
  const previews = () =>
    Promise.all([
      acme.post(`${X1}/dry-run`, tried),
      acme.get(`${X1}/default-preview`),
      acme.post(`${X1}/explain`, {
        protocol: 'tcp',
        source_ip: '192.0.2.9',
        destination_port: 20_000,
      }),
      admin.post(`${PORTAL}/groups/preview`, GROUP),
      admin.post(`${PORTAL}/groups/${id}/preview`, { ...GROUP, name: 'there' }),
    ]);
  await db.transaction().execute(async (tx) => {
    for (const table of ['groups', 'holdings', 'addresses', 'organisations', 'fleet']) {
      await sql`select from ${sql.table(table)} for update`.execute(tx);
    }
    for (const reply of await previews()) assert.equal(reply.status, 200, reply.text);
  });
});

test('dry runs at once are all answered, and leave nothing', async (t) => {
  const { acme, other, db } = await startEnvironment(t);
  const before = await sql`select generation from fleet`.execute(db);
  const replies = await Promise.all(
    Array.from({ length: 24 }, () => acme.post(`${X1}/dry-run`, TRIED)),
  );
  for (const { status, text } of replies) assert.equal(status, 200, text);
  assert.deepEqual(await sql`select generation from fleet`.execute(db), before);
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(db);
  assert.equal(rows[0]?.deadlocks, 0);
  assert.equal((await other.get('/api/v1/firewall/ips/192.0.2.1')).status, 200);
});

test('dry runs over many samples let the requests of others have their turns', async (t) => {
  const { acme, other, db } = await startEnvironment(t, { deadlineMs: 60_000 });
  await sql`
    update holdings set during = tstzrange(now() - interval '2 days', null) where organisation_id = ${ACME}`.execute(
    db,
  );
  await sql`
    insert into passed_samples (holding_id, destination, hour, protocol, destination_port, source, edge_id, packets, last_at)
    select h.id, ${IP}::inet, date_trunc('hour', now()), 17, n, '198.18.0.0'::inet + n, 1, 5, now()
      from (select id from holdings where organisation_id = ${ACME} and cidr >>= ${IP}::inet
             order by masklen(cidr) desc limit 1) h, generate_series(1, 5000) n`.execute(db);
  const sources = Array.from({ length: 1_000 }, (_, n) => `100.64.${n >> 8}.${n & 255}`);
  dataOf(await acme.post('/api/x1/firewall/blocked', { sources, target: IP }));
  const pending = { runs: 10 };
  const runs = Array.from({ length: pending.runs }, async () => {
    const reply = await acme.post(`${X1}/dry-run`, { rules: TRIED.rules });
    pending.runs -= 1;
    assert.match(reply.text, /of 25000 sampled packets/);
  });
  let reads = 0;
  while (pending.runs > 0) {
    assert.equal((await other.get('/api/v1/firewall/ips/192.0.2.10')).status, 200);
    reads += 1;
  }
  await Promise.all(runs);
  // One for each run, if none of them has a turn meanwhile.
  assert.ok(reads > 15, `${reads} reads`);
});
