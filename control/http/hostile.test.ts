import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { sendRaw } from '../testing/raw.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const RULES = `${IP}/rules`;
const RULE = '{"action":"deny","protocol":"gre"}';

const PROBLEM = 'Content-Type: application/problem\\+json';

/** A raw request with a key; the connection closes after the answer unless stated otherwise. */
function requestText(
  world: TestEnvironment,
  line: string,
  headers: readonly string[],
  body = '',
): string {
  const all = ['Host: x', `Authorization: ${world.acme.authorization}`, ...headers];
  return `${line}\r\n${all.join('\r\n')}\r\n\r\n${body}`;
}

function post(world: TestEnvironment, headers: readonly string[], body: string): string {
  const all = ['Content-Type: application/json', 'Connection: close', ...headers];
  return requestText(world, `POST ${RULES} HTTP/1.1`, all, body);
}

test('answers 400 to a body with ambiguous length and executes nothing', async (t) => {
  const world = await startEnvironment(t);
  const chunked = `${RULE.length.toString(16)}\r\n${RULE}\r\n0\r\n\r\n`;
  const shapes: readonly (readonly [readonly string[], string])[] = [
    [[`Content-Length: ${RULE.length}`, 'Content-Length: 2'], RULE],
    [[`Content-Length: ${RULE.length}`, `Content-Length: ${RULE.length}`], RULE],
    [[`Content-Length: ${RULE.length}, 2`], RULE],
    [[`Content-Length: +${RULE.length}`], RULE],
    [['Content-Length: -1'], RULE],
    [['Content-Length: 99999999999999999999'], RULE],
    [[`Content-Length: ${RULE.length}`, 'Transfer-Encoding: chunked'], chunked],
    [['Transfer-Encoding: xchunked'], chunked],
    [['Transfer-Encoding: chunked, identity'], chunked],
    [['Transfer-Encoding: gzip, chunked'], chunked],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunked],
    [['Transfer-Encoding : chunked'], chunked],
    [['Transfer-Encoding: chunked'], chunked.replaceAll('\r\n', '\n')],
    [['Transfer-Encoding: chunked'], `zz\r\n${RULE}\r\n0\r\n\r\n`],
    [['X-Folded: a', ' b', `Content-Length: ${RULE.length}`], RULE],
    [['X-Nul: a\0b', `Content-Length: ${RULE.length}`], RULE],
    [['X-Return: a\rb', `Content-Length: ${RULE.length}`], RULE],
  ];
  for (const [headers, body] of shapes) {
    const answer = await sendRaw(world.url, post(world, headers, body));
    assert.match(
      answer,
      new RegExp(`^HTTP/1.1 400 .*${PROBLEM}.*X-Request-Id: .*Connection: close`, 's'),
      headers.join(),
    );
    assert.equal(answer.split('X-Request-Id:').length, 2, 'one answer, whatever follows');
  }
  const { data } = (await world.acme.get(IP)).body as { data: { rules: unknown[] } };
  assert.deepEqual(data.rules, []);
});

test('answers 400 to an ambiguous head and 505 to another HTTP version', async (t) => {
  const world = await startEnvironment(t);
  const line = `GET ${IP} HTTP/1.1`;
  const key = `Authorization: ${world.acme.authorization}`;
  const cases: readonly (readonly [string, number, RegExp])[] = [
    [`${line}\r\n${key}\r\n\r\n`, 400, /Host is missing/],
    [requestText(world, line, ['Host: y']), 400, /Host stands more than once/],
    [requestText(world, line, [key]), 400, /Authorization stands more than once/],
    [requestText(world, line, ['Authorization: Bearer other']), 400, /Authorization stands more/],
    [
      requestText(world, `POST ${RULES} HTTP/1.1`, [
        'Content-Type: a/b',
        'Content-Type: c/d',
        'Content-Length: 0',
      ]),
      400,
      /Content-Type stands more than once/,
    ],
    [requestText(world, `GET ${IP} HTTP/2.0`, []), 505, /speaks HTTP\/1\.1/],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, /not HTTP/],
    ['CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400, /no proxy/],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, /not HTTP/],
  ];
  for (const [text, status, detail] of cases) {
    const answer = await sendRaw(world.url, text);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} .*${PROBLEM}`, 's'), text);
    assert.match(answer, /X-Request-Id: [0-9a-f-]{36}/);
    assert.match(answer, detail);
  }
});

test('answers HTTP/1.0, absolute-form targets, upgrades and unknown expectations like other requests', async (t) => {
  const world = await startEnvironment(t);
  const key = `Authorization: ${world.acme.authorization}`;
  const close = 'Connection: close';
  for (const text of [
    `GET ${IP} HTTP/1.0\r\n${key}\r\n\r\n`,
    requestText(world, `GET http://evil.example${IP} HTTP/1.1`, [close]),
    requestText(world, `GET HTTPS://evil.example:1${IP} HTTP/1.1`, [close]),
    requestText(world, `GET ${IP} HTTP/1.1`, ['Expect: the-unexpected', close]),
    requestText(world, `GET ${IP}#fragment HTTP/1.1`, [close]),
  ]) {
    assert.match(await sendRaw(world.url, text), /^HTTP\/1\.1 200 .*"ip":"203\.0\.113\.10"/s, text);
  }
  const upgrade = ['Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAA'];
  const kept = await sendRaw(
    world.url,
    requestText(world, `GET ${IP} HTTP/1.1`, upgrade),
    /"meta"/,
  );
  assert.match(kept, /^HTTP\/1\.1 200 /);
  const wrong = requestText(world, `PATCH http://evil.example${RULES} HTTP/1.1`, [close]);
  assert.match(await sendRaw(world.url, wrong), /^HTTP\/1\.1 405 .*allow: DELETE, OPTIONS, POST/is);
});

test('never normalises a path: dots, NUL, overlong UTF-8 and long URLs are 404 or 431', async (t) => {
  const world = await startEnvironment(t);
  const paths = [
    '/..%2f..%2fetc/passwd',
    '/../../etc/passwd',
    '/api/v1/../v1/firewall/ips/203.0.113.10',
    `${IP}/../203.0.113.10`,
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/problems/..%2f..%2fx',
    '/problems/__proto__',
    '/problems/constructor',
    '/%00',
    `${IP}%00`,
    '/api/v1/firewall/ips/%c0%af',
    '/api/v1/firewall/ips/%ff',
    '/api/v1/firewall/ips/%',
    `/${IP}`,
    IP.toUpperCase(),
    `${IP};a=1`,
    '/a'.repeat(7000),
  ];
  for (const path of paths) {
    const text = requestText(world, `GET ${path} HTTP/1.1`, ['Connection: close']);
    assert.match(await sendRaw(world.url, text), /^HTTP\/1\.1 404 .*"code":"not_found"/s, path);
  }
  const raw = requestText(world, 'GET /\xc0\xaf HTTP/1.1', ['Connection: close']);
  assert.match(await sendRaw(world.url, Buffer.from(raw, 'latin1')), /^HTTP\/1\.1 400 /);
  for (const text of [
    requestText(world, `GET /${'a'.repeat(100_000)} HTTP/1.1`, []),
    requestText(
      world,
      `GET ${IP} HTTP/1.1`,
      Array.from({ length: 5000 }, (_, i) => `X${i}: y`),
    ),
  ]) {
    assert.match(await sendRaw(world.url, text), /^HTTP\/1\.1 431 .*"status":431/s);
  }
});

test('answers HEAD for every GET with the same status and headers and no body', async (t) => {
  const world = await startEnvironment(t);
  const headers = { authorization: world.acme.authorization ?? '' };
  const paths = [
    IP,
    `${IP}/filters/available`,
    '/api/v1/game-servers',
    '/api/v1/attacks',
    '/api/x1/firewall/ips',
    IP.replace('v1', 'x1'),
    '/api/v1/openapi.json',
    '/api/x1/openapi.json',
    '/docs',
    '/problems/internal',
    '/healthz',
    '/readyz',
    '/nothing',
  ];
  const names = ['content-length', 'content-type', 'etag', 'content-encoding'];
  const seen = async (path: string, method: string) => {
    const reply = await fetch(`${world.url}${path}`, { method, headers });
    if (method === 'HEAD') assert.equal(await reply.text(), '');
    return [reply.status, ...names.map((name) => reply.headers.get(name))];
  };
  for (const path of paths) {
    // Some say until when they are true, in seconds: what is the same before and after is the same between.
    for (let isSteady = false; !isSteady; ) {
      const before = await seen(path, 'GET');
      const head = await seen(path, 'HEAD');
      isSteady = JSON.stringify(before) === JSON.stringify(await seen(path, 'GET'));
      if (isSteady) assert.deepEqual(head, before, path);
    }
  }
});

test('OPTIONS lists the methods of every path without a key', async (t) => {
  const { url } = await startEnvironment(t);
  for (const [path, allow] of [
    [IP, 'GET, HEAD, OPTIONS'],
    [`${IP}/filters`, 'DELETE, OPTIONS, POST'],
    [IP.replace('v1', 'x1'), 'GET, HEAD, OPTIONS, PUT'],
    ['/api/v1/attacks', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const reply = await fetch(`${url}${path}`, { method: 'OPTIONS' });
    assert.equal(reply.status, 204);
    assert.equal(reply.headers.get('allow'), allow, path);
  }
  assert.equal((await fetch(`${url}/nothing`, { method: 'OPTIONS' })).status, 404);
});

test('answers Expect: 100-continue only to authorised requests within the size limit', async (t) => {
  const world = await startEnvironment(t);
  const expect = ['Content-Type: application/json', 'Expect: 100-continue'];
  const head = (length: number): string =>
    requestText(world, `POST ${RULES} HTTP/1.1`, [...expect, `Content-Length: ${length}`]);
  const invited = await sendRaw(world.url, head(RULE.length), /100 Continue/);
  assert.match(invited, /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  const done = await sendRaw(world.url, head(RULE.length) + RULE, /"created":1/);
  assert.match(done, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  // The connection closes, because it is unknown whether the body follows.
  assert.match(await sendRaw(world.url, head(1024 * 1024)), /^HTTP\/1\.1 413 /);
  const stranger = head(RULE.length).replace(/Authorization: .*\r\n/, '');
  assert.match(await sendRaw(world.url, stranger), /^HTTP\/1\.1 401 .*connection: close/is);
});

test('answers 413 to 1 MiB with a length or in chunks', async (t) => {
  const world = await startEnvironment(t);
  const body = 'a'.repeat(1024 * 1024);
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  for (const [headers, sent] of [
    [[`Content-Length: ${body.length}`], body],
    [['Transfer-Encoding: chunked'], chunked],
  ] as const) {
    const answer = await sendRaw(world.url, post(world, headers, sent));
    assert.match(answer, /^HTTP\/1\.1 413 .*"code":"payload_too_large"/s);
  }
});

test('answers pipelined requests in order, also after one with an unread body', async (t) => {
  const world = await startEnvironment(t);
  const read = requestText(world, `GET ${IP} HTTP/1.1`, []);
  const withBody = requestText(world, `GET ${IP} HTTP/1.1`, ['Content-Length: 5'], 'hello');
  const refused = requestText(world, `PATCH ${RULES} HTTP/1.1`, ['Content-Length: 5'], 'hello');
  const last = requestText(world, 'GET /healthz HTTP/1.1', ['Connection: close']);
  const answer = await sendRaw(world.url, read + withBody + refused + last);
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
  assert.deepEqual(statuses, ['200', '200', '405', '200']);
  assert.match(answer, /\{"status":"ok"\}$/);
});

test('closes connections with a slow head, body or next request in time, with an error', async (t) => {
  const timeouts = { headersMs: 150, requestMs: 300, keepAliveMs: 100, checkEveryMs: 20 };
  const world = await startEnvironment(t, {
    config: {
      listen: { host: '127.0.0.1', port: 0 },
      publicUrl: 'http://x',
      trustedProxies: [],
      tls: null,
      metrics: null,
      timeouts,
    },
  });
  const body = requestText(
    world,
    `POST ${RULES} HTTP/1.1`,
    ['Content-Type: application/json', 'Content-Length: 50'],
    '{"a',
  );
  for (const text of [`GET ${IP} HTTP/1.1\r\nHost: x\r\nX-Slow: `, body]) {
    assert.match(await sendRaw(world.url, text), /^HTTP\/1\.1 408 .*did not arrive in time/s);
  }
  assert.match(
    await drip(world.url, `GET ${IP} HTTP/1.1\r\nHost: x\r\nX-Slow: `),
    /^HTTP\/1\.1 408 /,
  );
  // The server closes it after its answer; otherwise sendRaw would never return.
  const idle = await sendRaw(world.url, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(idle, /^HTTP\/1\.1 200 /);
});

/** Sends a byte every few milliseconds until the server closes the connection. */
async function drip(url: string, begin: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => (answer += String(chunk)));
  socket.on('error', () => {});
  socket.write(begin);
  const timer = setInterval(() => socket.write('a'), 10);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('close', () => resolve());
  await closed;
  clearInterval(timer);
  return answer;
}

test('answers a clear 4xx to numbers and strings that JSON parsers interpret differently', async (t) => {
  const { acme } = await startEnvironment(t);
  const deletions: readonly (readonly [string, number])[] = [
    ['{"ids":[1e400]}', 422],
    ['{"ids":[9007199254740993]}', 422],
    ['{"ids":[-0]}', 422],
    ['{"ids":[1.5]}', 422],
    ['{"ids":["1"]}', 422],
    ['{"ids":[true]}', 422],
    ['{"ids":[01]}', 400],
    ['{"ids":[NaN]}', 400],
    ['{"ids":[1,]}', 400],
    ['{"ids":[1]}//', 400],
    ['{"ids":[1],"__proto__":{"x":1}}', 422],
    ['{"ids":{"length":1,"0":1}}', 422],
    [`{"ids":${'[1'.repeat(30_000)}`, 400],
  ];
  for (const [raw, status] of deletions) {
    const reply = await acme.send('DELETE', RULES, { raw });
    assert.equal(reply.status, status, `${raw.slice(0, 60)}: ${reply.text}`);
  }
  for (const source of ['\\ud800', '\\udc00x', '\\u0000', '\\u007f', '\\u009f', '１.2.3.4']) {
    const raw = `{"action":"deny","protocol":"any","source_ip":"${source}"}`;
    const reply = await acme.send('POST', RULES, { raw });
    assert.equal(reply.status, 422, source);
    assert.match(reply.text, /"pointer":"\/source_ip"/);
  }
});
