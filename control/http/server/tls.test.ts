import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { TEST_CERTIFICATE } from '../../testing/certificate.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { sendRaw } from '../../testing/raw.ts';
import type { HttpServer } from './server.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';

const config = {
  listen: { host: '127.0.0.1', port: 0 },
  publicUrl: 'https://portcullis.example',
  trustedProxies: [],
  tls: TEST_CERTIFICATE,
  metrics: null,
};

test('serves the API over HTTPS with a certificate', async (t) => {
  const world = await startEnvironment(t, { config });
  assert.match(world.url, /^https:/);
  const sent = request(`${world.url}${IP}`, {
    ca: TEST_CERTIFICATE.cert,
    headers: { authorization: world.acme.authorization ?? '' },
    agent: false,
  }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  assert.equal((JSON.parse(text) as { data: { ip: string } }).data.ip, '203.0.113.10');
});

test('explains plain HTTP on the TLS port, and closes other invalid connections', async (t) => {
  const world = await startEnvironment(t, { config });
  const plain = world.url.replace('https:', 'http:');
  const answer = await sendRaw(plain, `GET ${IP} HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.match(answer, /^HTTP\/1\.1 400 .*application\/problem\+json.*speaks HTTPS/s);
  assert.doesNotMatch(await sendRaw(plain, 'rubbish that is neither\r\n\r\n'), /HTTP/);
});

test('a connection that begins no handshake is closed, and holds up no stop', async (t) => {
  const servers: HttpServer[] = [];
  const world = await startEnvironment(t, { config }, (server) => servers.push(server));
  const idle = connectPlain(Number(new URL(world.url).port), '127.0.0.1');
  t.after(() => idle.destroy());
  await once(idle, 'connect');
  const closed = once(idle.resume(), 'close');
  await Promise.all([closed, servers[0]?.close()]);
});

test('rejects TLS older than 1.2', async (t) => {
  const world = await startEnvironment(t, { config });
  const port = Number(new URL(world.url).port);
  const old = connect({
    port,
    host: '127.0.0.1',
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ca: TEST_CERTIFICATE.cert,
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  const [error] = (await once(old, 'error')) as [Error & { code?: string }];
  assert.match(error.code ?? '', /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/);
});
