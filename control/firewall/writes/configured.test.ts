import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startEnvironment } from '../../testing/fixture.ts';

test('lists the number of configured addresses that the limit counts, with each assigned target once', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const rule = { action: 'allow', protocol: 'tcp', destination_port: '80' };
  assert.equal((await acme.post('/api/v1/firewall/ips/203.0.113.10/rules', rule)).status, 201);
  await sql`
    with made as (
      insert into groups (organisation_id, name, owner)
      select organisation_id, 'g', 'portal' from holdings where cidr = '203.0.113.0/24' returning id
    )
    insert into group_assignments (group_id, holding_id, target, created_generation)
    select made.id, h.id, target::cidr, 1
      from made, holdings h, unnest(array['203.0.113.10', '203.0.113.64/26']) as target
     where h.cidr = '203.0.113.0/24'`.execute(db);
  const list = await acme.get('/api/x1/firewall/ips');
  const { meta } = list.body as { meta: { configured_addresses: { used: number; limit: number } } };
  assert.equal(meta.configured_addresses.used, 2);
  await sql`update organisations set configured_addresses = 2`.execute(db);
  const path = '/api/v1/firewall/ips/203.0.113.11/rules';
  const refused = await acme.post(path, rule);
  assert.equal(refused.status, 422);
  assert.match(refused.text, /would make 3 configured/);
});
