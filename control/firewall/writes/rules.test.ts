import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startEnvironment } from '../../testing/fixture.ts';
import { assertRefused, type TestReply } from '../../testing/client.ts';

const V1 = '/api/v1/firewall/ips';
const IP = `${V1}/203.0.113.10`;
const IP6 = `${V1}/2001:db8::10`;
const PROMISE = 'Changes take 3-5 minutes to propagate globally.';
const NOT_ENFORCED =
  'At the moment no edge enforces rules for this address, so packets to it are not filtered until one does.';

const OPEN =
  'It changes no verdict now: what no rule matches is open too. Add a deny rule for any protocol, or set the default of the address to deny, to close it.';

interface RuleBody {
  readonly id: number;
  readonly action: string;
  readonly source_ip: string | null;
  readonly destination_port: number | null;
  readonly managed_by_group: { readonly id: number; readonly name: string } | null;
}

function rulesOf(reply: TestReply): RuleBody[] {
  const body = reply.body as { data: { rules: RuleBody[] } };
  return body.data.rules;
}

const tcp = (destination_port: string, more: object = {}) => ({
  action: 'allow',
  protocol: 'tcp',
  destination_port,
  ...more,
});

test('returns a created rule until its deletion', async (t) => {
  const { acme } = await startEnvironment(t);
  const created = await acme.post(`${IP}/rules`, tcp('443, 80', { source_ip: '198.51.100.0/24' }));
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, {
    data: { ids: [1, 2], created: 2, requested: 2 },
    message: `2 rules were accepted. ${PROMISE} ${OPEN} ${NOT_ENFORCED}`,
  });
  assert.equal(created.headers.get('portcullis-generation'), '1');
  assert.equal(created.headers.get('portcullis-enforcement'), 'none');
  const rule = {
    action: 'allow',
    protocol: 'tcp',
    source_ip: '198.51.100.0/24',
    destination_ip: '203.0.113.10',
    managed_by_group: null,
  };
  const read = await acme.get(IP);
  assert.deepEqual(read.body, {
    data: {
      ip: '203.0.113.10',
      rules: [
        { id: 1, ...rule, destination_port: 80 },
        { id: 2, ...rule, destination_port: 443 },
      ],
      filters: [],
    },
    meta: {
      rules_count: 2,
      filters_count: 0,
      limits: { rules_per_ip: 100, filters_per_ip: 25, max_ports_per_request: 101 },
    },
  });
  const deleted = await acme.delete(`${IP}/rules`, { ids: [2, 1, 99] });
  assert.equal(deleted.status, 200);
  assert.deepEqual(deleted.body, {
    data: { deleted: 2, ids: [1, 2] },
    message: `The deletion of 2 of 3 was accepted; not on this address: 99. ${PROMISE} ${NOT_ENFORCED}`,
  });
  assert.deepEqual(rulesOf(await acme.get(IP)), []);
});

test('reports canonical sources, and a whole family as any source', async (t) => {
  const { acme } = await startEnvironment(t);
  const cases: [string, string | null | undefined, string | null][] = [
    [IP, '0.0.0.0/0', null],
    [IP, '198.51.100.7/32', '198.51.100.7'],
    [IP6, '::/0', null],
    [IP6, '2001:DB8:0:0::1/128', '2001:db8::1'],
    [IP6, '2001:db8:1::/48', '2001:db8:1::/48'],
    [IP6, '::102:304', '::102:304'],
  ];
  for (const [path, source_ip, expected] of cases) {
    const made = await acme.post(`${path}/rules`, { action: 'deny', protocol: 'any', source_ip });
    assert.equal(made.status, 201, `${source_ip}`);
    const ids = (made.body as { data: { ids: number[] } }).data.ids;
    const rule = rulesOf(await acme.get(path)).find(({ id }) => id === ids[0]);
    assert.deepEqual(rule?.source_ip, expected);
  }
});

test('sorts allow before deny, then by id; no port and null mean any port', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/rules`, { action: 'deny', protocol: 'any' });
  await acme.post(`${IP}/rules`, { action: 'allow', protocol: 'icmp', destination_port: null });
  await acme.post(`${IP}/rules`, { action: 'allow', protocol: 'gre', source_ip: null });
  const rules = rulesOf(await acme.get(IP));
  assert.deepEqual(
    rules.map(({ id, action, destination_port }) => [id, action, destination_port]),
    [
      [2, 'allow', null],
      [3, 'allow', null],
      [1, 'deny', null],
    ],
  );
});

const REFUSED_RULES: readonly [string, object, string, RegExp][] = [
  [
    'a port with icmp',
    { action: 'deny', protocol: 'icmp', destination_port: '80' },
    '/destination_port',
    /no ports/,
  ],
  ['port 0', tcp('0'), '/destination_port', /1 to 65535/],
  ['a source of the other family', tcp('80', { source_ip: '2001:db8::1' }), '/source_ip', /IPv4/],
  ['no source at all', tcp('80', { source_ip: 'example.com' }), '/source_ip', /not an IP address/],
  ['an unknown action', { action: 'drop', protocol: 'tcp' }, '/action', /must be one of/],
  ['an unknown protocol', { action: 'deny', protocol: 'sctp' }, '/protocol', /must be one of/],
  [
    'a number for a port',
    { action: 'deny', protocol: 'tcp', destination_port: 80 },
    '/destination_port',
    /must be/,
  ],
  ['an unknown field', tcp('80', { note: 'x' }), '/note', /not a known field/],
  [
    '__proto__',
    JSON.parse('{"action":"deny","protocol":"tcp","__proto__":{}}'),
    '/__proto__',
    /not a known field/,
  ],
  ['NUL', tcp('80', { source_ip: '1.2.3.4\u0000' }), '/source_ip', /control characters/],
  ['half a surrogate pair', tcp('80', { source_ip: '\ud800' }), '/source_ip', /well-formed/],
];

test('refuses an invalid rule with field and reason, and creates nothing', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const [name, body, pointer, reason] of REFUSED_RULES) {
    const raw =
      name === '__proto__'
        ? '{"action":"deny","protocol":"tcp","__proto__":{}}'
        : JSON.stringify(body);
    const problem = assertRefused(
      await acme.send('POST', `${IP}/rules`, { raw }),
      422,
      'invalid_request',
    );
    const errors = problem['errors'] as { pointer: string; detail: string }[];
    const error = errors.find((one) => one.pointer === pointer);
    assert.match(error?.detail ?? '', reason, `${name}: ${JSON.stringify(errors)}`);
  }
  const missing = assertRefused(await acme.post(`${IP}/rules`, {}), 422, 'invalid_request');
  assert.deepEqual(missing['errors'], [
    { pointer: '/action', detail: 'is required' },
    { pointer: '/protocol', detail: 'is required' },
  ]);
  assert.deepEqual(rulesOf(await acme.get(IP)), []);
  assert.equal((await acme.get(IP)).headers.get('portcullis-accepted-generation'), '0');
});

test('rejects a rule identical to one on the address, names the ports, and creates none of the others', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/rules`, tcp('80,443-444'));
  const problem = assertRefused(
    await acme.post(`${IP}/rules`, tcp('79-82,443,444,9000')),
    422,
    'rule_exists',
  );
  assert.equal(
    problem['detail'],
    'The address already has a rule identical to this one on ports 80, 443-444; nothing was created.',
  );
  assert.equal(rulesOf(await acme.get(IP)).length, 3);
  await acme.post(`${IP}/rules`, { action: 'deny', protocol: 'any' });
  const again = assertRefused(
    await acme.post(`${IP}/rules`, { action: 'deny', protocol: 'any' }),
    422,
    'rule_exists',
  );
  assert.equal(
    again['detail'],
    'The address already has a rule identical to this one; nothing was created.',
  );
});

test('accepts 1 to 100 ids in a delete; more is limit_exceeded, and ten thousand are answered quickly', async (t) => {
  const { acme } = await startEnvironment(t);
  assertRefused(await acme.delete(`${IP}/rules`, { ids: [] }), 422, 'invalid_request');
  const ids = Array.from({ length: 10_000 }, (_, index) => index + 1);
  const problem = assertRefused(await acme.delete(`${IP}/rules`, { ids }), 422, 'limit_exceeded');
  assert.equal(
    problem['detail'],
    'Too much for one request: ids must name at most 100. Send it in parts.',
  );
  assertRefused(await acme.delete(`${IP}/rules`, { ids: [1.5] }), 422, 'invalid_request');
  assertRefused(await acme.delete(`${IP}/rules`, { ids: [1e300] }), 422, 'invalid_request');
  const none = await acme.delete(`${IP}/rules`, { ids: ids.slice(0, 100) });
  assert.equal(none.status, 200);
  assert.deepEqual((none.body as { data: unknown }).data, { deleted: 0, ids: [] });
});

test('accepts a write without effect, and names the deciding rule in the message', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${IP}/rules`, { action: 'allow', protocol: 'tcp' });
  const made = await acme.post(`${IP}/rules`, { ...tcp('80-81'), action: 'deny' });
  assert.equal(made.status, 201);
  assert.equal(
    (made.body as { message: string }).message,
    `2 rules were accepted. ${PROMISE} On ports 80-81 it changes no verdict now: rule 1 (allow tcp) decides first. ${NOT_ENFORCED}`,
  );
});

test('90 parallel creates against a limit of 50 never exceed it', async (t) => {
  const { client, db } = await startEnvironment(t);
  await sql`update organisations set rules_per_ip = 50 where id = 1`.execute(db);
  const acme = await client();
  const replies = await Promise.all(
    Array.from({ length: 90 }, (_, index) => acme.post(`${IP}/rules`, tcp(String(index + 1)))),
  );
  const created = replies.filter(({ status }) => status === 201);
  assert.equal(created.length, 50);
  for (const reply of replies.filter(({ status }) => status !== 201))
    assertRefused(reply, 422, 'limit_exceeded');
  const { rows } = await sql<{ count: number }>`select count(*) as count from rules`.execute(db);
  assert.equal(rows[0]?.count, 50);
});

test('creates one rule from parallel identical requests', async (t) => {
  const { acme } = await startEnvironment(t);
  const replies = await Promise.all(
    Array.from({ length: 30 }, () => acme.post(`${IP}/rules`, tcp('80'))),
  );
  assert.equal(replies.filter(({ status }) => status === 201).length, 1);
  for (const reply of replies.filter(({ status }) => status !== 201))
    assertRefused(reply, 422, 'rule_exists');
  assert.equal(rulesOf(await acme.get(IP)).length, 1);
});

test('limits configured addresses, also in parallel, and frees them when emptied', async (t) => {
  const { client, db } = await startEnvironment(t);
  await sql`update organisations set configured_addresses = 3 where id = 1`.execute(db);
  const acme = await client();
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      acme.post(`${V1}/203.0.113.${index}/rules`, tcp('80')),
    ),
  );
  const created = replies.flatMap(({ status }, index) => (status === 201 ? [index] : []));
  assert.equal(created.length, 3);
  const refused = replies.find(({ status }) => status !== 201);
  assert.ok(refused);
  assert.match(
    String(assertRefused(refused, 422, 'limit_exceeded')['detail']),
    /4 configured addresses and prefixes, and the organisation may have 3/,
  );
  const first = `${V1}/203.0.113.${created[0]}`;
  const id = rulesOf(await acme.get(first))[0]?.id;
  await acme.delete(`${first}/rules`, { ids: [id] });
  assert.equal((await acme.post(`${V1}/203.0.113.100/rules`, tcp('80'))).status, 201);
});
