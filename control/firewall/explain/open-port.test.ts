import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const X1 = '/api/x1/firewall';
const IP = '203.0.113.10';
const ADDRESS = `${X1}/ips/${IP}`;
const TCP = { protocol: 'tcp', destination_port: 25_565 };

interface Answer {
  readonly verdict: string;
  readonly open_to: {
    readonly to: string;
    readonly explanation: string;
    readonly propagation: string;
    readonly filters: readonly string[];
    readonly decisions: readonly { readonly verdict: string; readonly stage: string }[];
  } | null;
}
const answerOf = ({ status, body }: TestReply): Answer => {
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { data: Answer }).data;
};

test('a packet without a source is answered by everyone to whom the port is open', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const ask = async (body: object = TCP) => {
    const { open_to } = answerOf(await acme.post(`${ADDRESS}/explain`, body));
    assert.ok(open_to !== null);
    return open_to;
  };
  assert.deepEqual([(await ask()).to, (await ask()).propagation], ['everyone', 'unenforced']);
  await acme.post(`${X1}/blocked`, { sources: ['192.0.2.7'], target: null });
  const most = await ask();
  assert.equal(most.to, 'most');
  assert.match(
    most.explanation,
    /Closed to others: the list of blocked sources of the organisation/,
  );
  assert.deepEqual(
    most.decisions.map(({ verdict, stage }) => [verdict, stage]),
    [
      ['pass', 'default'],
      ['drop', 'blocked-sources'],
    ],
  );
  await acme.put(`${X1}/defaults`, { target: IP, default: 'deny' });
  assert.equal((await ask()).to, 'nobody');
  const opening = { ...TCP, change: { rules: [{ action: 'allow', ...TCP }], filters: [] } };
  assert.equal((await ask(opening)).to, 'most');
  const alone = { ...opening, change: { ...opening.change, blocked: ['198.51.100.0/24'] } };
  assert.match((await ask(alone)).explanation, /list of blocked sources.* and 1 more/);
  assert.equal((await ask()).to, 'nobody', 'nothing was written');
  assert.equal((await ask({ protocol: 'icmp' })).to, 'nobody');
  const named = answerOf(
    await acme.post(`${ADDRESS}/explain`, { ...opening, source_ip: '198.51.100.7' }),
  );
  assert.deepEqual([named.verdict, named.open_to], ['pass', null]);
  const blocked = answerOf(
    await acme.post(`${ADDRESS}/explain`, { ...alone, source_ip: '198.51.100.7' }),
  );
  assert.equal(blocked.verdict, 'drop');
  const twice = { action: 'allow', ...TCP };
  const refused = { ...TCP, change: { rules: [twice, twice], filters: [] } };
  assertRefused(await acme.post(`${ADDRESS}/explain`, refused), 422, 'invalid_request');
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner, enforcing_since, mode, in_service)
    values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet', now(), 'enforce', true)`.execute(
    db,
  );
  assert.equal((await ask()).propagation, 'pending');
  await sql`update edges set confirmed_generation = (select generation from fleet)`.execute(db);
  assert.equal((await ask()).propagation, 'live');
});

test('the accepted view names what drops beside the rules', async (t) => {
  const { acme, session } = await startEnvironment(t);
  const read = async () => {
    const { body } = await acme.get(ADDRESS);
    return (body as { meta: { also_drops: Record<string, unknown> } }).meta.also_drops;
  };
  assert.deepEqual(await read(), { blocked_sources: [], geo_rules: [], baseline_rules: [] });
  await acme.post(`${X1}/blocked`, { sources: ['192.0.2.7'], target: null });
  await acme.post(`${X1}/blocked`, { sources: ['192.0.2.0/24', '192.0.2.9'], target: IP });
  assert.deepEqual((await read())['blocked_sources'], [
    { target: IP, count: 2, sources: ['192.0.2.0/24', '192.0.2.9'] },
    { target: null, count: 1, sources: ['192.0.2.7'] },
  ]);
  await session('owner').post('/api/portal/organisations/acme/geo-rules', {
    action: 'only',
    countries: ['DE'],
    asns: [64_500],
    targets: [IP],
  });
  assert.deepEqual((await read())['geo_rules'], [
    { id: 1, action: 'only', countries: ['DE'], asns: [64_500] },
  ]);
});
