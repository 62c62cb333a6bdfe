import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const V1 = '/api/v1/firewall/ips';
const IP = `${V1}/203.0.113.10`;
const IP6 = `${V1}/2001:db8::10`;
const tcp = (destination_port: string) => ({ action: 'allow', protocol: 'tcp', destination_port });
const udp = (port: string) => ({ type: 'udp-stateful', port });

/** A group on prefixes of both families: one rule for any source, two for IPv6 sources, one filter. */
async function assignGroup(db: Db): Promise<void> {
  await sql`insert into groups (organisation_id, name, owner) values (1, 'both', 'portal')`.execute(
    db,
  );
  await sql`
    insert into group_rules (group_id, action, protocol, source, port, created_generation) values
      (1, 'deny', 'udp', null, 19, 0), (1, 'deny', 'tcp', '2001:db8:1::/48', 1, 0),
      (1, 'deny', 'tcp', '2001:db8:2::/48', 1, 0)`.execute(db);
  await sql`insert into group_filters (group_id, type, port, created_generation) values (1, 'udp-stateful', 9, 0)`.execute(
    db,
  );
  await sql`
    insert into group_assignments (group_id, holding_id, target, created_generation)
    values (1, 1, '203.0.113.0/24', 0), (1, 2, '2001:db8::/32', 0)`.execute(db);
}

test('counts the rules of a group for the family of the address, and its filters, against the limits', async (t) => {
  const world = await startEnvironment(t);
  await assignGroup(world.db);
  await sql`update organisations set rules_per_ip = 4, filters_per_ip = 3 where id = 1`.execute(
    world.db,
  );
  const acme = await world.client();
  for (const [path, free] of [
    [IP, 3],
    [IP6, 1],
  ] as const) {
    const tooMany = await acme.post(`${path}/rules`, tcp(`1-${free + 1}`));
    const { detail } = assertRefused(tooMany, 422, 'limit_exceeded');
    assert.match(String(detail), new RegExp(`has ${4 - free} rules?, and ${free + 1} more`));
    assert.equal((await acme.post(`${path}/rules`, tcp(`1-${free}`))).status, 201);
    assertRefused(await acme.post(`${path}/rules`, tcp('9')), 422, 'limit_exceeded');
    assertRefused(await acme.post(`${path}/filters`, udp('1-3')), 422, 'limit_exceeded');
    assert.equal((await acme.post(`${path}/filters`, udp('1-2'))).status, 201);
    assertRefused(await acme.post(`${path}/filters`, udp('3')), 422, 'limit_exceeded');
    const { meta } = (await acme.get(path)).body as { meta: object };
    const limits = { rules_per_ip: 4, filters_per_ip: 3, max_ports_per_request: 101 };
    assert.deepEqual(meta, { rules_count: 4, filters_count: 3, limits });
  }
});

test('reports an excessive request before existing objects, and those before a limit', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/rules`, tcp('1-100'));
  await acme.post(`${IP}/filters`, udp('1-25'));
  assertRefused(await acme.post(`${IP}/rules`, tcp('100-101')), 422, 'rule_exists');
  assertRefused(await acme.post(`${IP}/filters`, udp('25-26')), 422, 'filter_exists');
  for (const path of [`${IP}/rules`, `${IP}/filters`]) {
    const body = path.endsWith('rules') ? tcp('1-102') : udp('1-102');
    const { detail } = assertRefused(await acme.post(path, body), 422, 'limit_exceeded');
    assert.match(String(detail), /max_ports_per_request/);
  }
  const { meta } = (await acme.get(IP)).body as { meta: object };
  assert.deepEqual(Object.values(meta).slice(0, 2), [100, 25]);
});
