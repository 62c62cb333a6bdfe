import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { TEST_CERTIFICATE } from '../../testing/certificate.ts';
import type { HttpServer } from './server.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';
const config = {
  listen: { host: '127.0.0.1', port: 0 },
  publicUrl: 'https://portcullis.example',
  trustedProxies: [],
  tls: TEST_CERTIFICATE,
  metrics: null,
  timeouts: { headersMs: 500, requestMs: 500, keepAliveMs: 60_000, checkEveryMs: 100 },
};

async function open(t: TestContext, url: string): Promise<ClientHttp2Session> {
  const session = connect(url, { ca: TEST_CERTIFICATE.cert });
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  await once(session, 'connect');
  return session;
}

type Answer = readonly [status: number, body: string];

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  stream.setEncoding('utf8');
  const [headers] = (await once(stream, 'response')) as [{ ':status'?: number }];
  let body = '';
  for await (const chunk of stream) body += String(chunk);
  return [headers[':status'] ?? 0, body];
}

test('a page with its stream of events and all its requests is one connection', async (t) => {
  const world = await startEnvironment(t, { config });
  const session = await open(t, world.url);
  const authorization = world.acme.authorization ?? '';
  const events = session.request({ ':path': '/api/x1/events', authorization });
  const [begun] = (await once(events, 'response')) as [{ ':status'?: number }];
  assert.equal(begun[':status'], 200);
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => answerOf(session.request({ ':path': IP, authorization }))),
  );
  for (const [status, body] of answers) {
    assert.equal(status, 200);
    assert.equal((JSON.parse(body) as { data: { ip: string } }).data.ip, '203.0.113.10');
  }
  const write = session.request({
    ':method': 'POST',
    ':path': `${IP}/rules`,
    authorization,
    'content-type': 'application/json',
  });
  write.end(JSON.stringify({ action: 'deny', protocol: 'any' }));
  assert.equal((await answerOf(write))[0], 201);
  assert.equal((await answerOf(session.request({ ':path': IP })))[0], 401);
  events.close();
});

test('a body that does not arrive ends its request, and its neighbours on the connection go on', async (t) => {
  const world = await startEnvironment(t, { config });
  const session = await open(t, world.url);
  const authorization = world.acme.authorization ?? '';
  const type = { 'content-type': 'application/json' };
  const slow = session.request({
    ':method': 'POST',
    ':path': `${IP}/rules`,
    authorization,
    ...type,
  });
  slow.on('error', () => undefined);
  slow.write('{');
  const drip = setInterval(() => slow.destroyed || slow.write(' '), 50);
  t.after(() => clearInterval(drip));
  await once(slow, 'close');
  assert.equal((await answerOf(session.request({ ':path': IP, authorization })))[0], 200);
});

test('no request is a proxy or a second header, and a server that stops ends its connections', async (t) => {
  const servers: HttpServer[] = [];
  const world = await startEnvironment(t, { config }, (server) => servers.push(server));
  const session = await open(t, world.url);
  const proxied = session.request({ ':method': 'CONNECT', ':authority': 'example.org:80' });
  assert.equal((await answerOf(proxied))[0], 405);
  const events = session.request({
    ':path': '/api/x1/events',
    authorization: world.acme.authorization ?? '',
  });
  await once(events, 'response');
  const closed = once(session, 'close');
  events.resume();
  await Promise.all([servers[0]?.close(), closed]);
});
