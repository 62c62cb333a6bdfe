import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { putAttack } from '../attacks/detection/testing.ts';
import { startEnvironment } from '../testing/fixture.ts';

const X1 = '/api/x1/firewall';

test('lists the addresses of a prefix that have own settings, recent drops or recent attacks', async (t) => {
  const { acme, other, db, session } = await startEnvironment(t);
  const listed = async (client = acme): Promise<string[]> =>
    (
      (await client.get(`${X1}/ips`)).body as { data: { addresses: { ip: string }[] } }
    ).data.addresses
      .map(({ ip }) => ip)
      .filter((ip) => ip.startsWith('203.0.113.'));
  const before = await listed();
  const portal = session('owner');
  const base = '/api/portal/organisations/acme';
  const targets = (host: number) => [`203.0.113.${host}`];
  const made = [
    await portal.post(`${base}/groups`, {
      name: 'g',
      rules: [],
      filters: [],
      targets: targets(31),
    }),
    await portal.post(`${base}/geo-rules`, {
      action: 'deny',
      countries: ['XX'],
      asns: [],
      targets: targets(32),
    }),
    await acme.put(`${X1}/defaults`, { target: '203.0.113.33', default: 'deny' }),
    await acme.post(`${X1}/blocked`, { sources: ['198.51.100.7'], target: '203.0.113.34' }),
  ];
  for (const { status, text } of made) assert.ok(status < 300, text);
  await putAttack(db, { subject: '203.0.113.35', startedAgo: 60, peakPps: 1000 });
  await putAttack(db, { subject: '203.0.113.0/25', startedAgo: 60, peakPps: 1000 });
  await sql`
    insert into drop_counts
    select id, '203.0.113.36/32', date_trunc('minute', now()), 1, 'policy', 'denied', 'xdp', 5, 300
      from holdings where cidr = '203.0.113.0/24'`.execute(db);
  const found = (await listed()).filter((ip) => !before.includes(ip));
  assert.deepEqual(
    found,
    [31, 32, 33, 34, 35, 36].map((host) => `203.0.113.${host}`),
  );
  assert.deepEqual(await listed(other), []);
});
