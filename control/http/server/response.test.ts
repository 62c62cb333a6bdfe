import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { test } from 'node:test';
import { assertRefused } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';

test('compresses JSON when asked, under a tag of its own that If-None-Match knows', async (t) => {
  const { acme, url } = await startEnvironment(t);
  const rule = { action: 'allow', protocol: 'tcp', destination_port: '1000-1040' };
  assert.equal((await acme.post(`${IP}/rules`, rule)).status, 201);
  const authorization = acme.authorization ?? '';
  const get = (headers: Readonly<Record<string, string>>) =>
    new Promise<{ headers: Readonly<Record<string, unknown>>; status?: number; body: Buffer }>(
      (resolve, reject) => {
        request(`${url}${IP}`, { headers: { authorization, ...headers } }, (reply) => {
          const parts: Buffer[] = [];
          reply.on('data', (part: Buffer) => parts.push(part));
          reply.on('end', () =>
            resolve({
              headers: reply.headers,
              body: Buffer.concat(parts),
              ...(reply.statusCode !== undefined && { status: reply.statusCode }),
            }),
          );
        })
          .on('error', reject)
          .end();
      },
    );
  const plain = await get({});
  const small = await get({ 'accept-encoding': 'br;q=1, gzip' });
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(small.headers['content-encoding'], 'gzip');
  assert.deepEqual(gunzipSync(small.body), plain.body);
  assert.notEqual(small.headers['etag'], plain.headers['etag']);
  for (const reply of [plain, small]) {
    assert.equal(reply.headers['vary'], 'Authorization, Cookie, Accept-Encoding');
    assert.equal(reply.headers['cache-control'], 'private, no-cache');
    const known = await get({ 'if-none-match': String(reply.headers['etag']) });
    assert.equal(known.status, 304);
    assert.equal(known.headers['content-length'], undefined);
  }
});

test('a refusal before the body was read closes the connection', async (t) => {
  const { url } = await startEnvironment(t);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST ${IP}/rules HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
  );
  const reply = await text(socket);
  assert.match(reply, /^HTTP\/1\.1 401 /);
  assert.match(reply, /\r\nconnection: close\r\n/i);
});

test('a refusal reaches a sender that goes on sending', async (t) => {
  const { url } = await startEnvironment(t);
  const { hostname, port } = new URL(url);
  const lines = [`POST ${IP}/rules HTTP/1.1`, 'Host: x', 'Content-Type: application/json'];
  for (const [status, head] of [
    [401, [...lines, 'Content-Length: 8000000']],
    [400, [...lines, 'Host: y', 'Content-Length: 8000000']],
    [431, [...lines, `X-Long: ${'x'.repeat(20_000)}`, 'Content-Length: 8000000']],
  ] as const) {
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    socket.write(`${head.join('\r\n')}\r\n\r\n${' '.repeat(100_000)}`);
    await once(socket, 'readable');
    for (let part = 0; part < 20; part += 1) {
      await new Promise((sent) => void socket.write(' '.repeat(100_000), sent));
    }
    assert.match(await text(socket), new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  }
});

test('ends a connection whose requests go on behind a refused one', async (t) => {
  const { url } = await startEnvironment(t);
  const { hostname, port } = new URL(url);
  // What is open without being asked to end would do so after this time.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  const refused = 'GET / HTTP/1.1\r\n\r\n';
  socket.write(refused);
  await once(socket, 'readable');
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  for (let count = 0; count < 20_000 && !socket.destroyed; count += 1) {
    socket.write(refused);
    await Promise.race([closed, new Promise((resolve) => setImmediate(resolve))]);
  }
  assert.ok(socket.destroyed);
});

test('refuses a condition that a write does not check', async (t) => {
  const { acme } = await startEnvironment(t);
  const rule = { action: 'allow', protocol: 'tcp', destination_port: '80' };
  for (const name of ['if-match', 'if-none-match', 'if-unmodified-since']) {
    const reply = await acme.post(`${IP}/rules`, rule, { [name]: '"x"' });
    const { detail } = assertRefused(reply, 422, 'invalid_request');
    assert.match(String(detail), new RegExp(name, 'i'));
  }
});

test('leads a person from / to the reference', async (t) => {
  const { url } = await startEnvironment(t);
  const reply = await fetch(`${url}/`, { redirect: 'manual' });
  assert.deepEqual([reply.status, reply.headers.get('location')], [302, '/docs']);
});
