import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, dataOf } from '@portcullis/control/testing/client.ts';
import { sql } from 'kysely';
import { FILES, INTERNET, type Job, serve, startFiles } from './world.ts';

const PULL = `${FILES}/pull`;

test('a pull reaches no address inside, by address, name, redirect or rebinding (CVE-2024-34068)', async (t) => {
  const world = await startFiles(t);
  const { files, key } = world;
  let reached = 0;
  const inside = await serve(t, (_, response) => response.end(`${(reached += 1)}`), '127.0.0.2');
  const outside = await serve(t, (request, response) => {
    const location = decodeURIComponent(request.url?.slice(1) ?? '');
    if (location === 'file') response.end('good');
    else response.writeHead(301, { location }).end();
  });
  const names: Readonly<Record<string, readonly string[]>> = {
    'loopback.example.net': ['127.0.0.2'],
    'private.example.net': ['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1'],
    'metadata.example.net': ['169.254.169.254', 'fd00:ec2::254', '168.63.129.16'],
    'mapped.example.net': ['::ffff:127.0.0.2', '64:ff9b::7f00:2', '2002:7f00:2::'],
    'multicast.example.net': ['224.0.0.1', 'ff02::1', '0.0.0.0'],
    'good.example.net': ['127.0.0.1'],
  };
  let asked = 0;
  const resolve = async (name: string): Promise<readonly string[]> => {
    asked += 1;
    // A name whose owner changes its address between two questions.
    if (name === 'rebind.example.net') return asked % 2 === 1 ? ['127.0.0.1'] : ['127.0.0.2'];
    return names[name] ?? Promise.reject(new Error('ENOTFOUND'));
  };
  files.pulls = { networks: INTERNET, resolve };
  const bad = [
    ...Object.keys(names)
      .filter((name) => name !== 'good.example.net')
      .map((name) => `http://${name}:${inside}/x`),
    `http://127.0.0.2:${inside}/x`,
    `http://[::ffff:127.0.0.2]:${inside}/x`,
    `http://0x7f.2:${inside}/x`,
  ];
  for (const url of bad) {
    assertRefused(await key.post(PULL, { url, path: 'x' }), 422, 'conflict');
    const redirect = `http://127.0.0.1:${outside}/${encodeURIComponent(url)}`;
    assertRefused(await key.post(PULL, { url: redirect, path: 'x' }), 422, 'conflict');
  }
  asked = 0;
  // The first answer of the name is good, and the connection goes there; what redirects to it asks again.
  const rebind = `http://rebind.example.net:${outside}`;
  const first = await key.post(PULL, { url: `${rebind}/file`, path: 'rebound' });
  assert.equal(dataOf<Job>(first).state, 'done', first.text);
  assert.equal(asked, 1);
  asked = 0;
  const again = encodeURIComponent(`http://rebind.example.net:${inside}/x`);
  assertRefused(await key.post(PULL, { url: `${rebind}/${again}`, path: 'x' }), 422, 'conflict');
  assert.equal(reached, 0);
  assert.equal(existsSync(join(files.folder, 'x')), false);
  const good = `http://good.example.net:${outside}/file`;
  assert.equal((await key.post(PULL, { url: good, path: 'x' })).status, 200);
  assert.equal(readFileSync(join(files.folder, 'x'), 'utf8'), 'good');
});

test('what is no URL that may be pulled is 422 before a node is asked', async (t) => {
  const { key, files } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  for (const url of [
    '',
    'map.jar',
    'ftp://example.net/map.jar',
    'file:///etc/passwd',
    'https://me:secret@example.net/map.jar',
    `https://example.net/${'a'.repeat(2_048)}`,
    'https://example.net/\u0007',
  ])
    assertRefused(await key.post(PULL, { url, path: 'x' }), 422, 'invalid_request');
  const url = 'https://example.net/map.jar';
  for (const body of [{ url }, { url, path: '../x' }, { url, path: 'x', headers: {} }])
    assertRefused(await key.post(PULL, body), 422, 'invalid_request');
  assert.equal(files.log.length, 0);
});

test('redirects end after five, and the quota ends what is larger than it says', async (t) => {
  const { key, files } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (Number.isNaN(left)) {
      response.on('error', () => undefined);
      response.write(Buffer.alloc(1024 * 1024));
      const more = (): void => void response.write(Buffer.alloc(1024 * 1024), more);
      more();
    } else if (left === 0) response.end('good');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const url = `http://127.0.0.1:${port}`;
  assert.equal((await key.post(PULL, { url: `${url}/5`, path: 'five' })).status, 200);
  assertRefused(await key.post(PULL, { url: `${url}/6`, path: 'six' }), 422, 'conflict');
  files.limitMib = 8;
  const endless = await key.post(PULL, { url: `${url}/endless`, path: 'endless' });
  assertRefused(endless, 422, 'limit_exceeded');
  assert.equal(existsSync(join(files.folder, 'endless')), false);
});

test('the activity of a server names a URL without its query, which may be a secret', async (t) => {
  const { key, files, db } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (_, response) => response.end('x'));
  const url = `http://127.0.0.1:${port}/map.jar?signature=secret#part`;
  assert.equal((await key.post(PULL, { url, path: 'x' })).status, 200);
  const { rows } = await sql<{ text: string }>`
    select detail::text as text from audit where action = 'server.files.pull'
    union all select detail::text from server_activity where action = 'files.pull'`.execute(db);
  assert.equal(rows.length, 2);
  for (const { text } of rows) {
    assert.match(text, /map\.jar\?…/);
    assert.doesNotMatch(text, /secret|part/);
  }
});
