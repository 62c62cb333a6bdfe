import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, type TestReply } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const X1 = '/api/x1/firewall/ips';
const V1 = '/api/v1/firewall/ips';
const ACCEPTED = `${X1}/203.0.113.10`;
const LIVE = `${V1}/203.0.113.10`;

const allow = (destination_port: string) => ({
  action: 'allow',
  protocol: 'tcp',
  destination_port,
});

interface Accepted {
  readonly data: {
    readonly rules: readonly { id: number; destination_port: number | null; status: string }[];
    readonly filters: readonly { key: string; status: string }[];
  };
  readonly meta: {
    readonly accepted_generation: number;
    readonly live_generation: number;
    readonly edges: unknown;
  };
}
const asAccepted = (reply: TestReply) => reply.body as Accepted;
const asReplaced = (reply: TestReply) =>
  (reply.body as { data: { unchanged: number; difference: unknown } }).data;
const statuses = (reply: TestReply) =>
  asAccepted(reply).data.rules.map(({ destination_port, status }) => [destination_port, status]);

const EDGE = sql`
  insert into edges (name, site, devices, serves, sees, fragments, management, owner, enforcing_since, mode, in_service)
  values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet', now(), 'enforce', true)`;

test('the accepted view shows each object live, pending or going, while v1 shows what is live', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  await acme.post(`${LIVE}/rules`, allow('80,81'));
  assert.deepEqual(statuses(await acme.get(ACCEPTED)), [
    [80, 'pending'],
    [81, 'pending'],
  ]);
  assert.deepEqual(asAccepted(await acme.get(LIVE)).data.rules, []);
  await sql`update edges set confirmed_generation = 1`.execute(db);
  await acme.delete(`${LIVE}/rules`, { ids: [1] });
  const read = await acme.get(ACCEPTED);
  assert.deepEqual(statuses(read), [
    [80, 'going'],
    [81, 'live'],
  ]);
  assert.equal(read.headers.get('portcullis-generation'), '1');
  assert.equal(read.headers.get('portcullis-accepted-generation'), '2');
  assert.equal(read.headers.get('portcullis-enforcement'), 'full');
  assert.deepEqual(asAccepted(read).meta.edges, [
    { name: 'fra1', generation: 1, in_service: true, refused: null },
  ]);
  assert.equal(asAccepted(await acme.get(LIVE)).data.rules.length, 2);
  await sql`update edges set confirmed_generation = 2`.execute(db);
  assert.deepEqual(statuses(await acme.get(ACCEPTED)), [[81, 'live']]);
});

test('deletes a rule that was accepted and never live', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  await acme.post(`${LIVE}/rules`, allow('80'));
  assert.deepEqual((await acme.delete(`${LIVE}/rules`, { ids: [1] })).status, 200);
  await sql`update edges set confirmed_generation = 2`.execute(db);
  assert.deepEqual(asAccepted(await acme.get(LIVE)).data.rules, []);
});

test('enforcement is partial with an edge away or an address refused, which stays at its last good state', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  await acme.post(`${LIVE}/rules`, allow('80'));
  await sql`update edges set confirmed_generation = 1`.execute(db);
  await sql`insert into edge_refusals values (1, '203.0.113.10/32', 'too many', 0)`.execute(db);
  const refused = await acme.get(LIVE);
  assert.equal(refused.headers.get('portcullis-enforcement'), 'partial');
  assert.equal(refused.headers.get('portcullis-generation'), '0');
  assert.deepEqual(asAccepted(refused).data.rules, []);
  assert.equal(
    (await acme.get(`${V1}/203.0.113.11`)).headers.get('portcullis-enforcement'),
    'full',
  );
  await sql`update edges set in_service = false, left_service_at = now()`.execute(db);
  assert.equal(
    (await acme.get(`${V1}/203.0.113.11`)).headers.get('portcullis-enforcement'),
    'partial',
  );
});

test('replaces the own objects, keeps the ids of unchanged ones, and returns the difference', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.put(ACCEPTED, {
    rules: [allow('80-81')],
    filters: [{ type: 'udp-stateful', port: '9' }],
  });
  const replaced = await acme.put(ACCEPTED, {
    rules: [allow('81'), { action: 'deny', protocol: 'any' }],
    filters: [{ type: 'tcp-syn-proxy', port: '81' }],
  });
  assert.equal(replaced.status, 200);
  const { difference: _, ...names } = asReplaced(replaced);
  assert.deepEqual(names, {
    created: { rules: [3], filters: ['tcp-syn-proxy:81'] },
    deleted: { rules: [1], filters: ['udp-stateful:9'] },
    unchanged: 1,
  });
  assert.deepEqual(
    asAccepted(await acme.get(LIVE)).data.rules.map(({ id }) => id),
    [2, 3],
  );
  const same = await acme.put(ACCEPTED, {
    rules: [{ action: 'deny', protocol: 'any' }, allow('81')],
    filters: [{ type: 'tcp-syn-proxy', port: '81' }],
  });
  assert.equal(
    same.headers.get('portcullis-generation'),
    replaced.headers.get('portcullis-generation'),
  );
  assert.equal(asReplaced(same).unchanged, 3);
  const emptied = await acme.put(ACCEPTED, { rules: [], filters: [] });
  assert.equal(emptied.status, 200);
  assert.deepEqual(asAccepted(await acme.get(LIVE)).data.rules, []);
});

test('answers 412 to a replace with If-Match of an older state, regardless of confirmations by edges', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  await acme.post(`${LIVE}/rules`, allow('80'));
  const etag = (await acme.get(ACCEPTED)).headers.get('etag') ?? '';
  await sql`update edges set confirmed_generation = 1`.execute(db);
  assert.notEqual((await acme.get(ACCEPTED)).headers.get('etag'), etag);
  const wanted = { rules: [allow('443')], filters: [] };
  assert.equal((await acme.put(ACCEPTED, wanted, { 'if-match': etag })).status, 200);
  assertRefused(
    await acme.put(ACCEPTED, { rules: [], filters: [] }, { 'if-match': etag }),
    412,
    'precondition_failed',
  );
  assert.deepEqual(statuses(await acme.get(ACCEPTED)), [
    [80, 'going'],
    [443, 'pending'],
  ]);
});

test('refuses a replace with any mistake, and reports its position', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${LIVE}/rules`, allow('80'));
  const cases: [object, string, string | null][] = [
    [
      { rules: [allow('80'), allow('x')], filters: [] },
      'invalid_request',
      '/rules/1/destination_port',
    ],
    [{ rules: [allow('80'), allow('80')], filters: [] }, 'invalid_request', '/rules/1'],
    [
      { rules: [], filters: [{ type: 'udp-stateful', port: '0' }] },
      'invalid_request',
      '/filters/0/port',
    ],
    [{ rules: [], filters: [{ type: 'nope', port: '1' }] }, 'filter_unavailable', null],
    [{ rules: [allow('1-100'), allow('200')], filters: [] }, 'limit_exceeded', null],
    [{ rules: Array(700).fill(allow('1-65535')), filters: [] }, 'limit_exceeded', null],
    [{ rules: [] }, 'invalid_request', '/filters'],
  ];
  for (const [body, code, pointer] of cases) {
    const document = assertRefused(await acme.put(ACCEPTED, body), 422, code);
    if (pointer === null) continue;
    const [error] = document['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, pointer);
  }
  assert.deepEqual(statuses(await acme.get(ACCEPTED)), [[80, 'pending']]);
});

interface Held {
  readonly data: {
    readonly prefixes: readonly { prefix: string }[];
    readonly addresses: readonly { ip: string; service_id: number | null; rules_count: number }[];
  };
  readonly links: { readonly next: string | null };
  readonly meta: unknown;
}

const asHeld = (reply: TestReply) => reply.body as Held;

test('lists held prefixes, assigned and configured addresses in order, by page, within the scope of the key', async (t) => {
  const world = await startEnvironment(t);
  for (const ip of ['203.0.113.9', '203.0.113.10', '2001:db8::1']) {
    await world.acme.post(`${V1}/${ip}/rules`, allow('80,81'));
  }
  const ips: string[] = [];
  let next: string | null = `${X1}?per_page=3`;
  let pages = 0;
  for (; next !== null && pages < 5; pages++) {
    const page: Held = asHeld(await world.acme.get(next));
    ips.push(...page.data.addresses.map(({ ip }) => ip));
    assert.deepEqual(
      page.data.prefixes.map(({ prefix }) => prefix),
      ['203.0.113.0/24', '2001:db8::/32'],
    );
    assert.deepEqual(page.meta, { per_page: 3, configured_addresses: { used: 3, limit: 10_000 } });
    next = page.links.next?.replace('https://portcullis.example', '') ?? null;
  }
  assert.equal(pages, 2);
  assert.deepEqual(ips, ['198.51.100.10', '203.0.113.9', '203.0.113.10', '2001:db8::1']);
  const bound = await world.client({ prefixes: ['203.0.113.0/29'] });
  const seen = asHeld(await bound.get(X1)).data;
  assert.deepEqual(
    seen.prefixes.map(({ prefix }) => prefix),
    ['203.0.113.0/29'],
  );
  assert.deepEqual(seen.addresses, []);
  assertRefused(await bound.get(LIVE), 404, 'not_found');
  assertRefused(await bound.get(ACCEPTED), 404, 'not_found');
  assertRefused(await bound.post(`${LIVE}/rules`, allow('80')), 404, 'not_found');
});

interface Explained {
  readonly data: {
    verdict: string;
    stage: string;
    decided_by: { kind: string; id: number } | null;
  };
}

const asExplained = (reply: TestReply) => reply.body as Explained;

test('explains the verdict by the accepted or the live state', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  const ask = async (packet: object) =>
    asExplained(await acme.post(`${ACCEPTED}/explain`, { source_ip: '198.51.100.7', ...packet }))
      .data;
  const tcp80 = { protocol: 'tcp', destination_port: 80 };
  assert.equal((await ask(tcp80)).verdict, 'pass');
  await acme.post(`${LIVE}/rules`, { action: 'deny', protocol: 'any' });
  await acme.post(`${LIVE}/rules`, allow('80'));
  const allowed = await ask(tcp80);
  assert.deepEqual(
    [allowed.verdict, allowed.stage, allowed.decided_by?.kind, allowed.decided_by?.id],
    ['pass', 'rules', 'rule', 2],
  );
  const denied = await ask({ protocol: 'udp', destination_port: 80 });
  assert.deepEqual([denied.verdict, denied.decided_by?.id], ['drop', 1]);
  assert.equal((await ask({ protocol: 132 })).verdict, 'drop');
  assert.equal((await ask({ ...tcp80, view: 'live' })).decided_by, null);
});

test('refuses a packet with contradictory fields', async (t) => {
  const { acme } = await startEnvironment(t);
  const cases: [object, string][] = [
    [{ protocol: 'tcp', source_ip: '2001:db8::1', destination_port: 1 }, '/source_ip'],
    [{ protocol: 'tcp', source_ip: 'rubbish', destination_port: 1 }, '/source_ip'],
    [{ protocol: 'tcp', source_ip: '1.2.3.4' }, '/destination_port'],
    [{ protocol: 'gre', source_ip: '1.2.3.4', destination_port: 1 }, '/destination_port'],
    [{ protocol: 'udp', source_ip: '1.2.3.4', destination_port: 1, icmp_type: 8 }, '/icmp_type'],
    [{ protocol: 256, source_ip: '1.2.3.4' }, '/protocol'],
  ];
  for (const [body, pointer] of cases) {
    const document = assertRefused(
      await acme.post(`${ACCEPTED}/explain`, body),
      422,
      'invalid_request',
    );
    const [error] = document['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, pointer);
  }
});

test('the default of an address or its prefix decides about what no rule matches', async (t) => {
  const { acme, other, client } = await startEnvironment(t);
  const set = (target: string, action: string | null, by = acme) =>
    by.put('/api/x1/firewall/defaults', { target, default: action });
  const verdict = async (port: number) => {
    const packet = { protocol: 'tcp', destination_port: port, source_ip: '198.51.100.7' };
    const { data } = asExplained(await acme.post(`${ACCEPTED}/explain`, packet));
    return `${data.verdict} ${data.stage}`;
  };
  await acme.post(`${LIVE}/rules`, allow('80'));
  assert.equal(await verdict(22), 'pass default');
  const closed = await set('203.0.113.0/24', 'deny');
  assert.equal(closed.status, 200);
  assert.deepEqual([await verdict(80), await verdict(22)], ['pass rules', 'drop default']);
  assert.partialDeepStrictEqual((await acme.get(ACCEPTED)).body, { data: { default: 'deny' } });
  await set('203.0.113.10', 'accept');
  assert.equal(await verdict(22), 'pass default');
  await set('203.0.113.10', null);
  assert.equal(await verdict(22), 'drop default');
  const again = await set('203.0.113.10', null);
  assert.match(JSON.stringify(again.body), /Nothing was changed/);
  const generation = Number(closed.headers.get('portcullis-generation'));
  assert.equal(Number(again.headers.get('portcullis-generation')), generation + 2);
  const bound = await client({ prefixes: ['203.0.113.64/26'] });
  assertRefused(await set('203.0.113.10', 'accept', bound), 404, 'not_found');
  assertRefused(await set('203.0.113.10', 'accept', other), 404, 'not_found');
  assertRefused(await set('203.0.113.1/24', 'deny'), 422, 'invalid_request');
});

test('what a read of an address answers can be sent back', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await EDGE.execute(db);
  await acme.post(`${LIVE}/rules`, allow('80,443'));
  await acme.post(`${LIVE}/filters`, { type: 'udp-stateful', port: '27015' });
  await sql`update edges set confirmed_generation = 2`.execute(db);
  await acme.delete(`${LIVE}/rules`, { ids: [2] });
  const read = await acme.get(ACCEPTED);
  const reply = await acme.put(ACCEPTED, asAccepted(read).data);
  assert.equal(reply.status, 200, reply.text);
  assert.match(reply.text, /Nothing was changed/);
});
