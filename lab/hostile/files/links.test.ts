import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { makeCertificateFiles } from '@portcullis/control/nats/server-files.ts';
import { TEST_CERTIFICATE } from '@portcullis/control/testing/certificate.ts';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { sql } from 'kysely';
import { assertRefused } from '@portcullis/control/testing/client.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { TestFiles } from '@portcullis/node/files/testing/files.ts';

test('a link that control makes is good at its node once, and not for a caller without the right', async (t) => {
  const env = await startEnvironment(t);
  const node = await new TestNode(env.nodes, 'node-1', await addNode(env.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(env.db, { number: 1 });
  const files = new TestFiles(t);
  files.put('world/level.dat', 'level');
  node.link.onCall(async (call) => (call.kind === 'node.files' ? files.service.run(call) : null));
  const { port } = await files.serveLinks(t);
  const path = `/api/x1/game-servers/${uuidOf(1)}/files/links`;
  const body = { paths: ['world/level.dat'] };
  const key = await env.client({ abilities: ['game-servers.files'] });
  // A node that does not say that it serves links is not asked: one of an earlier version would not answer.
  const unknown = await key.post(path, body);
  assertRefused(unknown, 422, 'conflict');
  node.fileLinks = true;
  await node.beat();
  const made = await key.post(path, body, { 'idempotency-key': 'again' });
  assert.equal(made.status, 200);
  const { url } = (made.body as { readonly data: { readonly url: string } }).data;
  const direct = url.replace('https://files.example', `http://127.0.0.1:${port}`);
  assert.equal(await (await fetch(direct)).text(), 'level');
  assert.equal((await fetch(direct)).status, 404);
  const kept = await sql`select from idempotency_keys`.execute(env.db);
  assert.equal(kept.rows.length, 0, 'no answer with a secret is kept');
  const upload = await key.post(`/api/x1/game-servers/${uuidOf(1)}/files/upload/links`, {
    path: 'a.jar',
    offset: 0,
    size: 1,
  });
  assert.equal(upload.status, 200);
  const other = await env.client({ abilities: ['game-servers.read'] });
  assert.equal((await other.post(path, body)).status, 403);
});

test('one source has 32 connections at a node that speaks TLS, and one more for each that it closes', async (t) => {
  const files = new TestFiles(t);
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-links-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const tls = { cert: join(folder, 'crt'), key: join(folder, 'key') };
  writeFileSync(tls.cert, TEST_CERTIFICATE.cert);
  writeFileSync(tls.key, TEST_CERTIFICATE.key);
  const { port } = await files.serveLinks(t, tls);
  /** Null: it was closed before anything was agreed. */
  const opened = (): Promise<TLSSocket | null> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
      t.after(() => socket.destroy());
      socket.on('error', () => undefined);
      socket.once('secureConnect', () => resolve(socket));
      socket.once('close', () => resolve(null));
    });
  const held: (TLSSocket | null)[] = [];
  for (let count = 0; count < 32; count += 1) held.push(await opened());
  assert.ok(held.every((socket) => socket !== null && !socket.destroyed));
  assert.equal(await opened(), null);
  held[0]?.destroy();
  let again: TLSSocket | null = null;
  for (let tries = 0; again === null && tries < 1_000; tries += 1) again = await opened();
  assert.notEqual(again, null);
});

test('a node speaks TLS by its own certificate, takes a renewed one, and keeps the old one where that cannot be used', async (t) => {
  const files = new TestFiles(t);
  files.put('a', 'x');
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-links-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const tls = { cert: join(folder, 'crt'), key: join(folder, 'key') };
  const write = ({ cert, key }: { readonly cert: string; readonly key: string }): void => {
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
  };
  write(TEST_CERTIFICATE);
  const { server, port } = await files.serveLinks(t, tls);
  const peer = async (): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const first = await peer();
  assert.equal(first, new X509Certificate(TEST_CERTIFICATE.cert).fingerprint256);
  write({ cert: 'no certificate', key: 'no key' });
  server.renew();
  assert.equal(await peer(), first);
  const { db } = await testDatabase(t);
  const [cert, key] = await makeCertificateFiles(db, ['localhost']);
  write({ cert: cert?.text ?? '', key: key?.text ?? '' });
  server.renew();
  assert.notEqual(await peer(), first);
  const { url } = await files.ok('linked', { kind: 'makeLink', paths: ['a'], format: null });
  const ask = request({
    port,
    host: '127.0.0.1',
    path: new URL(url).pathname,
    rejectUnauthorized: false,
  });
  ask.end();
  const [response] = (await once(ask, 'response')) as [IncomingMessage];
  assert.equal(await text(response), 'x');
});
