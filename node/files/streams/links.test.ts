import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileOperationOf } from '@portcullis/link/messages/files.ts';
import { TestFiles } from '../testing/files.ts';
import { FileLinks, type LinkKind } from './links.ts';

async function begin(t: TestContext) {
  const files = new TestFiles(t);
  const { port } = await files.serveLinks(t);
  const base = `http://127.0.0.1:${port}`;
  const made = async (operation: FileOperationOf<LinkKind>): Promise<string> =>
    (await files.ok('linked', operation)).url.replace('https://files.example', base);
  const link = (paths: string[], format: 'zip' | null = null): Promise<string> =>
    made({ kind: 'makeLink', paths, format });
  const uploadLink = (size: number, offset = 0, expected: string | null = null) =>
    made({ kind: 'makeUploadLink', path: 'new/a.jar', offset, size, expected });
  return { files, port, base, link, uploadLink };
}

test('a link sends one file once, as a download that no browser runs', async (t) => {
  const { files, link } = await begin(t);
  files.put('a/page.html', '<script>');
  const url = await link(['a/page.html']);
  const first = await fetch(url);
  assert.equal(first.status, 200);
  assert.match(
    first.headers.get('content-disposition') ?? '',
    /^attachment; filename="page\.html"/,
  );
  assert.equal(first.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(await first.text(), '<script>');
  assert.equal((await fetch(url)).status, 404);
});

test('of many that use one link at once, one receives the file', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  const all = await Promise.all(Array.from({ length: 12 }, () => fetch(url)));
  assert.equal(all.filter(({ status }) => status === 200).length, 1);
});

test('a link sends an archive', async (t) => {
  const { files, link } = await begin(t);
  files.put('a/b', 'x');
  const response = await fetch(await link(['a'], 'zip'));
  assert.equal(response.headers.get('content-type'), 'application/zip');
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(bytes.subarray(0, 2).toString(), 'PK');
});

test('a link is good for nothing else: HEAD and POST do not use it up, another path is not found', async (t) => {
  const { files, link, base } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  for (const method of ['HEAD', 'POST', 'DELETE', 'OPTIONS'])
    assert.equal((await fetch(url, { method })).status, 405);
  assert.equal((await fetch(url, { method: 'PUT', body: 'y' })).status, 404);
  for (const path of [`${url}?a`, `${url}/..%2f`, `${base}/`, `${base}/files/${'a'.repeat(43)}`])
    assert.equal((await fetch(path)).status, 404);
  assert.equal(await (await fetch(url)).text(), 'x');
});

test('rights are checked when a link is made, and again when it is used', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', 'x');
  const make = { kind: 'makeLink', paths: ['a'], format: null } as const;
  assert.equal(await files.code(make, ['file.read']), 'forbidden');
  const url = await link(['a']);
  files.rightsOf = () => [] as FileRight[];
  assert.equal((await fetch(url)).status, 403);
});

test('the denylist holds when a link is made, and when it is used', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  files.denylist = ['a'];
  assert.equal(await files.code({ kind: 'makeLink', paths: ['a'], format: null }), 'denied');
  assert.equal((await fetch(url)).status, 403);
});

test('a download is cut off when the right of its caller ends', async (t) => {
  const { files, link } = await begin(t);
  files.put('large', Buffer.alloc(256 * 1024 * 1024));
  const response = await fetch(await link(['large']));
  const reader = response.body?.getReader();
  await reader?.read();
  files.rightsOf = () => [] as FileRight[];
  await files.service.checkRights();
  await assert.rejects(async () => {
    for (;;) if ((await reader?.read())?.done !== false) return;
  });
});

test('a link expires, and is unknown to another node', () => {
  let now = 0;
  const links = new FileLinks('https://files.example/', () => now);
  const operation = { kind: 'makeLink', paths: ['a'], format: null } as const;
  const of = { uuid: 'u', caller: 'person:1', operation };
  const tokenOf = (): string => links.make(of).url.slice('https://files.example/files/'.length);
  const [late, early] = [tokenOf(), tokenOf()];
  assert.equal(new FileLinks('https://files.example').find(early, 'makeLink'), null);
  now = 299_999;
  assert.deepEqual(links.find(early, 'makeLink'), of);
  now = 300_000;
  assert.equal(links.find(late, 'makeLink'), null);
});

test('one caller cannot have links without end', () => {
  const links = new FileLinks('https://files.example');
  const operation = { kind: 'makeLink', paths: ['a'], format: null } as const;
  const of = { uuid: 'u', caller: 'person:1', operation };
  for (let count = 0; count < 64; count += 1) links.make(of);
  assert.throws(() => links.make(of), /Too many links/);
  links.make({ ...of, caller: 'person:2' });
});

test('a request with two lengths is refused, and the link stays good', async (t) => {
  const { files, link, port } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  const socket = connect(port, '127.0.0.1');
  socket.end(
    `GET ${new URL(url).pathname} HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  await once(socket, 'close');
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.equal((await fetch(url)).status, 200);
});

test('a part of a file is sent, and the whole one where it has changed', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', '0123456789');
  const whole = await fetch(await link(['a']));
  const etag = whole.headers.get('etag') ?? '';
  assert.equal(await whole.text(), '0123456789');
  const part = await fetch(await link(['a']), { headers: { range: 'bytes=6-', 'if-range': etag } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('content-range'), 'bytes 6-9/10');
  assert.equal(await part.text(), '6789');
  const other = { range: 'bytes=6-', 'if-range': '"other.bytes"' };
  const again = await fetch(await link(['a']), { headers: other });
  assert.deepEqual([again.status, await again.text()], [200, '0123456789']);
  const behind = await fetch(await link(['a']), { headers: { range: 'bytes=10-' } });
  assert.equal(behind.status, 416);
});

test('a file is sent by links, goes on where it broke off, and has its name when it is whole', async (t) => {
  const { files, uploadLink } = await begin(t);
  const first = await fetch(await uploadLink(10), { method: 'PUT', body: '0123' });
  const part = { path: 'new/a.jar', received: 4, size: 10, done: false };
  assert.deepEqual(await first.json(), { data: part });
  assert.deepEqual(await files.names('new').catch(() => []), []);
  const url = await uploadLink(10, 4);
  const rest = await fetch(url, { method: 'PUT', body: '456789' });
  assert.deepEqual(await rest.json(), { data: { ...part, received: 10, done: true } });
  assert.equal(readFileSync(join(files.folder, 'new/a.jar'), 'utf8'), '0123456789');
  assert.equal((await fetch(url, { method: 'PUT', body: '456789' })).status, 404);
});

test('an upload by a link is held to its size, its offset, what is there and the quota', async (t) => {
  const { files, uploadLink } = await begin(t);
  const put = async (url: string, body: string): Promise<number> =>
    fetch(url, { method: 'PUT', body }).then(
      ({ status }) => status,
      () => 0,
    );
  assert.equal(await put(await uploadLink(2), 'much more'), 0);
  assert.equal(await put(await uploadLink(10, 4), '456789'), 409);
  const fresh = await uploadLink(1, 0, 'absent');
  files.put('new/a.jar', 'old');
  assert.equal(await put(fresh, 'x'), 412);
  assert.equal(readFileSync(join(files.folder, 'new/a.jar'), 'utf8'), 'old');
  files.limitMib = 1;
  assert.equal(await put(await uploadLink(64 * 1024 * 1024), 'x'), 413);
});

test('uploads of which nothing arrives count as files', async (t) => {
  const { files, base } = await begin(t);
  files.limitEntries = 12;
  let made = 0;
  for (; made < 20; made += 1) {
    const upload = { path: `f${made}`, offset: 0, size: made % 2, expected: null };
    const linked = await files.call({ kind: 'makeUploadLink', ...upload });
    if (linked?.kind !== 'linked') break;
    const url = linked.url.replace('https://files.example', base);
    if (!(await fetch(url, { method: 'PUT', body: '' })).ok) break;
  }
  assert.ok(made > 0 && made < 12, `${made}`);
});

test('an upload is cut off when the right of its caller ends', async (t) => {
  const { files, port, uploadLink } = await begin(t);
  const url = await uploadLink(1_000_000);
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.after(() => socket.destroy());
  socket.write(
    `PUT ${new URL(url).pathname} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n`,
  );
  socket.write(Buffer.alloc(1_000));
  const uploaded = { kind: 'uploaded', path: 'new/a.jar' } as const;
  while ((await files.ok('received', uploaded)).received === 0)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const closed = once(socket, 'close');
  socket.resume();
  files.rightsOf = () => ['file.read', 'file.update', 'file.read-content'];
  await files.service.checkRights();
  await closed;
  const { isOpen, received } = await files.ok('received', uploaded);
  assert.deepEqual([isOpen, received], [false, 1_000]);
});

test('no link is made while they are not served', async (t) => {
  const files = new TestFiles(t);
  files.put('a', 'x');
  const make = { kind: 'makeLink', paths: ['a'], format: null } as const;
  assert.equal(await files.code(make), 'unavailable');
  const { server } = await files.serveLinks(t);
  assert.equal(await files.code(make), 'linked');
  await server.stop();
  assert.equal(await files.code(make), 'unavailable');
});

test('a server whose files cannot be reached, such as a suspended one, sends nothing', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  files.away = 'The server is suspended.';
  assert.equal((await fetch(url)).status, 503);
});

test('connections that send no whole request are closed, and others are served meanwhile', async (t) => {
  const { files, port, link } = await begin(t);
  files.put('a', 'x');
  const slow = Array.from({ length: 64 }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    if (index % 2 === 0) socket.write('GET /files/ HTTP/1.1\r\nx: ');
    return once(socket.resume(), 'close');
  });
  assert.equal(await (await fetch(await link(['a']))).text(), 'x');
  await Promise.all(slow);
});

test('a refusal reaches a sender that goes on sending, and what follows ends the connection', async (t) => {
  const { base, port } = await begin(t);
  const path = `/files/${'a'.repeat(43)}`;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  const part = ' '.repeat(100_000);
  socket.write(
    `PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${21 * part.length}\r\n\r\n${part}`,
  );
  await once(socket, 'readable');
  for (let count = 0; count < 20; count += 1)
    await new Promise((sent) => void socket.write(part, sent));
  const closed = once(socket, 'close');
  const answer = text(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.match(await answer, /^HTTP\/1\.1 404 .*This link was used/s);
  socket.end();
  await closed;
  assert.equal((await fetch(base)).status, 404, 'others are served');
});

test('one caller has 16 streams at a time', async (t) => {
  const { files, link } = await begin(t);
  files.put('large', Buffer.alloc(48 * 1024 * 1024));
  const open = await Promise.all(
    Array.from({ length: 16 }, async () => fetch(await link(['large']))),
  );
  assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
  assert.equal((await fetch(await link(['large']))).status, 429);
  await Promise.all(open.map(async ({ body }) => body?.cancel()));
});

test('a link stays good where control does not answer whether its caller has the right still', async (t) => {
  const { files, link } = await begin(t);
  files.put('a', 'x');
  const url = await link(['a']);
  const { rightsOf } = files;
  files.rightsOf = () => {
    throw new Error('no answer');
  };
  assert.equal((await fetch(url)).status, 503);
  files.rightsOf = rightsOf;
  assert.equal(await (await fetch(url)).text(), 'x');
});

test('links that wait hold so many paths of a server and of all servers', () => {
  const links = new FileLinks('https://files.example');
  const operation = {
    kind: 'makeLink',
    paths: Array.from({ length: 100 }, () => 'x'.repeat(4_000)),
    format: 'zip',
  } as const;
  const make = (uuid: string, caller: string) => links.make({ uuid, caller, operation });
  for (const caller of ['a', 'b']) make('server', caller);
  assert.throws(() => make('server', 'c'), /Too many links wait/);
  for (let server = 0; server < 19; server += 1) {
    for (const caller of ['a', 'b']) make(`${server}`, caller);
  }
  make('another', 'a');
  assert.throws(() => make('another', 'b'), /Too many links wait/);
});

test('of uploads of one file that begin at once, one is taken whole', async (t) => {
  const { files, uploadLink } = await begin(t);
  const body = Buffer.alloc(3 * 1024 * 1024, 1);
  const urls = await Promise.all(Array.from({ length: 6 }, () => uploadLink(body.length)));
  const put = (url: string) =>
    fetch(url, { method: 'PUT', body }).then(
      ({ status }) => status,
      () => 'cut',
    );
  const outcomes = await Promise.all(urls.map(put));
  assert.ok(outcomes.includes(200), outcomes.join());
  assert.deepEqual(readFileSync(join(files.folder, 'new/a.jar')), body);
});
