import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { buildOpenApi } from '@portcullis/contract/openapi.ts';
import { assertRefused } from '../testing/client.ts';
import { createRateLimiter } from './operations/rate-limit.ts';
import { startEnvironment } from '../testing/fixture.ts';
import { sendRaw } from '../testing/raw.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const RULES = `${IP}/rules`;
const METHODS = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'];

test('every operation answers 401 without a valid key and explains how to authenticate', async (t) => {
  const world = await startEnvironment(t);
  const headers = [
    undefined,
    '',
    'Bearer',
    'Basic abc',
    'Bearer pcl_short',
    `Bearer pcl_${'a'.repeat(46)}`,
  ];
  for (const header of headers) {
    for (const [method, path] of [
      ['GET', IP],
      ['POST', RULES],
      ['GET', '/api/v1/attacks'],
      ['GET', '/api/x1/firewall/ips'],
    ] as const) {
      const reply = await world.anonymous(header).send(method, path);
      assertRefused(reply, 401, 'unauthenticated');
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer');
    }
  }
});

test('401 comes before 403 flag, before 403 ability, before 404, before 422', async (t) => {
  const world = await startEnvironment(t);
  const bad = { action: 'rubbish' };
  const foreign = '/api/v1/firewall/ips/192.0.2.1/rules';
  assertRefused(await world.anonymous().post(foreign, bad), 401, 'unauthenticated');
  const reader = await world.client({ abilities: ['firewall.read'] });
  await sql`update organisations set flags = '{}' where id = 1`.execute(world.db);
  const noFlag = await world.client({ abilities: ['game-servers.read'] });
  assertRefused(await noFlag.post(foreign, bad), 403, 'area_not_enabled');
  await sql`update organisations set flags = '{firewall_api}' where id = 1`.execute(world.db);
  assertRefused(await reader.post(foreign, bad), 403, 'ability_missing');
  const writer = await world.client({ abilities: ['firewall.manage'] });
  assertRefused(await writer.post(foreign, bad), 404, 'not_found');
  assertRefused(await writer.post(RULES, bad), 422, 'invalid_request');
  assertRefused(await writer.get(IP), 403, 'ability_missing');
});

test('answers 404 to any spelling that is no address of the caller', async (t) => {
  const { acme } = await startEnvironment(t);
  const wrong = [
    '192.0.2.1',
    '203.0.113.200',
    '8.8.8.8',
    '203.0.113.010',
    '::ffff:203.0.113.10',
    'fe80::1%25eth0',
    'example.com',
    '203.0.113.10%2F24',
    '203.0.113',
    '%00',
    '2001:db9::1',
    '1'.repeat(300),
    '%20203.0.113.10',
  ];
  for (const ip of wrong)
    assertRefused(await acme.get(`/api/v1/firewall/ips/${ip}`), 404, 'not_found');
  const read = await acme.get('/api/v1/firewall/ips/2001:0DB8:0:0::0010');
  assert.equal(read.status, 200);
  assert.equal((read.body as { data: { ip: string } }).data.ip, '2001:db8::10');
});

const HOSTILE: readonly [string, string | Uint8Array, string, number, string][] = [
  ['deep nesting', '['.repeat(60_000), 'application/json', 400, 'malformed_json'],
  [
    'a nested object',
    `{"a":`.repeat(40) + '1' + '}'.repeat(40),
    'application/json',
    400,
    'malformed_json',
  ],
  [
    'invalid UTF-8',
    Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d),
    'application/json',
    400,
    'malformed_json',
  ],
  ['a byte order mark', '\ufeff{}', 'application/json', 400, 'malformed_json'],
  ['no JSON', 'action=allow', 'application/json', 400, 'malformed_json'],
  ['an empty body', '', 'application/json', 400, 'malformed_json'],
  ['a form', 'action=allow', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
  ['text', '{}', 'text/plain', 415, 'unsupported_media_type'],
  ['another charset', '{}', 'application/json; charset=utf-16', 415, 'unsupported_media_type'],
  ['a content type that is none', '{}', 'json', 415, 'unsupported_media_type'],
  ['an array', '[]', 'application/json', 422, 'invalid_request'],
  ['null', 'null', 'application/json', 422, 'invalid_request'],
  ['a string', '"x"', 'application/json; charset=UTF-8', 422, 'invalid_request'],
  ['NUL in a string', '{"action":"\\u0000"}', 'application/json', 422, 'invalid_request'],
  [
    'ten thousand items',
    JSON.stringify(Array(10_000).fill(0)),
    'application/json',
    422,
    'invalid_request',
  ],
  [
    'ten thousand fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i]))),
    'application/json',
    413,
    'payload_too_large',
  ],
  [
    'a thousand fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`f${i}`, i]))),
    'application/json',
    422,
    'invalid_request',
  ],
];

test('answers hostile bodies with a clear 4xx in bounded time, with at most twenty errors', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const [name, raw, type, status, code] of HOSTILE) {
    const tookMs = processorClock();
    const reply = await acme.send('POST', RULES, { raw, headers: { 'content-type': type } });
    const document = assertRefused(reply, status, code);
    assert.ok(tookMs() < 2000, name);
    const errors = document['errors'];
    if (Array.isArray(errors)) assert.ok(errors.length >= 1 && errors.length <= 20, name);
    assert.ok(reply.text.length < 10_000, name);
  }
});

test('takes a JSON type without a body where the operation takes no body', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const [method, path] of [
    ['POST', '/api/x1/attacks/1/accept'],
    ['DELETE', '/api/x1/attacks/1/mitigations'],
  ] as const) {
    const typed = await acme.send(method, path, { raw: '' });
    assertRefused(typed, 404, 'not_found');
  }
});

test('names the position of a mistake, and takes the last value of a repeated key', async (t) => {
  const { acme } = await startEnvironment(t);
  const raw = '{"action":"deny","protocol":"gre","action":"allow"}';
  assert.equal((await acme.send('POST', RULES, { raw })).status, 201);
  assert.match((await acme.get(IP)).text, /"action":"allow"/);
  const broken = await acme.send('POST', RULES, { raw: '{"action" "allow"}' });
  assert.match(String(assertRefused(broken, 400, 'malformed_json')['detail']), /line 1, column 11/);
  const bare = await acme.send('POST', RULES);
  assertRefused(bare, 400, 'malformed_json');
  const zipped = await acme.send('POST', RULES, {
    raw: '{}',
    headers: { 'content-encoding': 'gzip' },
  });
  assertRefused(zipped, 415, 'unsupported_media_type');
});

test('a path takes exactly the methods that its document has, also below a path with a parameter', async (t) => {
  const { acme } = await startEnvironment(t);
  for (const version of ['v1', 'x1', 'operator'] as const) {
    for (const [template, item] of Object.entries(Object(buildOpenApi(version)['paths']))) {
      const path = `/api/${version}${template.replaceAll(/\{\w+\}/g, 'some')}`;
      const documented = METHODS.filter((method) =>
        Object.hasOwn(Object(item), method.toLowerCase()),
      );
      const options = await acme.send('OPTIONS', path);
      const allowed = String(options.headers.get('allow')).split(', ');
      const own = allowed.filter((method) => method !== 'OPTIONS' && method !== 'HEAD');
      assert.deepEqual(own, documented, path);
      for (const method of METHODS.filter((one) => !documented.includes(one))) {
        const wrong = await acme.send(method, path);
        assertRefused(wrong, 405, 'method_not_allowed');
        assert.equal(wrong.headers.get('allow'), options.headers.get('allow'), path);
      }
    }
  }
});

test('answers 405 with Allow to another method and 404 to an unknown path, with any body', async (t) => {
  const { acme } = await startEnvironment(t);
  const wrong = await acme.send('PATCH', RULES, {
    raw: 'x',
    headers: { 'content-type': 'text/plain' },
  });
  assertRefused(wrong, 405, 'method_not_allowed');
  assert.equal(wrong.headers.get('allow'), 'DELETE, OPTIONS, POST');
  assert.equal((await acme.send('PUT', '/healthz')).headers.get('allow'), 'GET, HEAD, OPTIONS');
  for (const path of [
    '/api/v1',
    `${IP}/`,
    '/api/v2/firewall/ips/1.2.3.4',
    '//',
    '/api/v1/firewall/ips/',
    '/%zz',
  ]) {
    assertRefused(
      await acme.send('POST', path, { raw: 'x', headers: { 'content-type': 'x/y' } }),
      404,
      'not_found',
    );
  }
});

test('answers bytes that are not HTTP and headers above 16 KiB, never with a 5xx', async (t) => {
  const { url } = await startEnvironment(t);
  assert.match(
    await sendRaw(url, 'rubbish\r\n\r\n'),
    /^HTTP\/1\.1 400 .*application\/problem\+json/s,
  );
  const long = `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`;
  assert.match(await sendRaw(url, long), /^HTTP\/1\.1 431 .*X-Request-Id: .*"status":431/s);
  const headers = `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`;
  assert.match(await sendRaw(url, headers), /^HTTP\/1\.1 431 /);
});

test('keeps a valid X-Request-Id and replaces any other', async (t) => {
  const { acme } = await startEnvironment(t);
  const kept = await acme.get(IP, { 'x-request-id': 'deploy-42.a_b' });
  assert.equal(kept.headers.get('x-request-id'), 'deploy-42.a_b');
  for (const id of ['short', 'a'.repeat(65), 'with space in it', '{"json":"inject"}']) {
    const reply = await acme.get(IP, { 'x-request-id': id });
    assert.match(reply.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  }
});

test('answers 429 with the wait time to a key above its quota, and not to others', async (t) => {
  const world = await startEnvironment(t, { rateLimiter: createRateLimiter() });
  await sql`update organisations set requests_per_minute = 2 where id = 1`.execute(world.db);
  const limited = await world.client();
  assert.equal((await limited.get(IP)).headers.get('ratelimit'), '"key";r=1;t=30');
  await limited.get(IP);
  const refused = await limited.get(IP);
  assertRefused(refused, 429, 'rate_limited');
  assert.equal(refused.headers.get('retry-after'), '30');
  assert.equal(refused.headers.get('ratelimit-policy'), '"key";q=2;w=60');
  assert.equal((await world.other.get('/api/v1/firewall/ips/192.0.2.1')).status, 200);
});
