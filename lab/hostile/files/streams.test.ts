import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import type { FileAnswer, FileCall, StreamTicket } from '@portcullis/link/messages/files.ts';
import { TestFiles } from '@portcullis/node/files/testing/files.ts';
import { sql } from 'kysely';
import { eventually } from '../../system/stack-fixture.ts';

const FILES = `/api/x1/game-servers/${uuidOf(1)}/files`;
const BIG = 6 * 1024 * 1024 + 17;

/** The API, a link, and the real files of a node, which opens its streams over the network. */
async function start(t: TestContext) {
  const env = await startEnvironment(t);
  const node = await new TestNode(env.nodes, 'node-1', await addNode(env.db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(env.db, { number: 1 });
  const files = new TestFiles(t);
  const world = {
    env,
    files,
    calls: [] as FileCall[],
    /** Answers instead of the node; null: the node does. */
    answer: (() => null) as (call: FileCall) => FileAnswer | null,
  };
  node.link.onCall(async (call) => {
    if (call.kind !== 'node.files') return null;
    world.calls.push(call);
    return world.answer(call) ?? files.service.run(call);
  });
  const { authorization } = await env.client({ abilities: ['game-servers.files'] });
  const call = (path: string, init: RequestInit & { readonly duplex?: 'half' } = {}) =>
    fetch(`${env.url}${FILES}/${path}`, {
      ...init,
      headers: { authorization: authorization ?? '', ...(init.headers as object) },
    });
  const put = async (query: string, body: Uint8Array, headers: Record<string, string> = {}) => {
    const response = await call(`upload?${query}`, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers,
    });
    return { status: response.status, body: (await response.json()) as Answered };
  };
  return { ...world, world, call, put, authorization: authorization ?? '' };
}

/** The parts of an answer that tests look at. */
interface Answered {
  readonly data?: { readonly received: number; readonly done: boolean };
  readonly code?: string;
  readonly detail?: string;
}

const noTmp = (folder: string): boolean =>
  !existsSync(join(folder, '.portcullis', 'uploads')) ||
  readdirSync(join(folder, '.portcullis', 'uploads')).length === 0;

test('a file is uploaded in parts, is seen when it is whole, and read by ranges', async (t) => {
  const { files, call, put } = await start(t);
  const bytes = randomBytes(BIG);
  const cut = 5 * 1024 * 1024 + 3;
  const first = await put(`path=mods/a%20b.jar&offset=0&size=${BIG}`, bytes.subarray(0, cut));
  assert.equal(first.status, 200);
  assert.deepEqual(first.body, {
    data: { path: 'mods/a b.jar', received: cut, size: BIG, done: false },
  });
  assert.equal(existsSync(join(files.folder, 'mods')), false);
  const looked = await call('upload?path=mods/a%20b.jar');
  assert.deepEqual(await looked.json(), first.body);
  const wrong = await put(`path=mods/a%20b.jar&offset=7&size=${BIG}`, bytes.subarray(7));
  assert.equal(wrong.status, 422);
  assert.match(wrong.body.detail ?? '', new RegExp(`${cut} of ${BIG} bytes`));
  const rest = await put(`path=mods/a%20b.jar&offset=${cut}&size=${BIG}`, bytes.subarray(cut));
  assert.deepEqual(rest.body, {
    data: { path: 'mods/a b.jar', received: BIG, size: BIG, done: true },
  });
  assert.ok(readFileSync(join(files.folder, 'mods/a b.jar')).equals(bytes));
  assert.equal(statSync(join(files.folder, 'mods/a b.jar')).mode & 0o777, 0o644);
  assert.ok(noTmp(files.folder));
  const whole = await call('content?path=mods/a%20b.jar&raw=true');
  assert.equal(whole.status, 200);
  assert.equal(whole.headers.get('content-length'), String(BIG));
  assert.match(whole.headers.get('content-disposition') ?? '', /filename="a b\.jar"/);
  assert.match(whole.headers.get('content-security-policy') ?? '', /sandbox/);
  assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes));
  const part = async (range: string, headers = {}) => {
    const response = await call('content?path=mods/a%20b.jar', { headers: { range, ...headers } });
    const content = Buffer.from(await response.arrayBuffer());
    return { status: response.status, content, range: response.headers.get('content-range') };
  };
  const tail = await part('bytes=-1000');
  assert.equal(tail.status, 206);
  assert.ok(tail.content.equals(bytes.subarray(-1000)));
  assert.equal(tail.range, `bytes ${BIG - 1000}-${BIG - 1}/${BIG}`);
  assert.ok((await part('bytes=10-19')).content.equals(bytes.subarray(10, 20)));
  assert.ok((await part(`bytes=${cut}-`)).content.equals(bytes.subarray(cut)));
  assert.equal((await part('bytes=1-2,5-6')).status, 200);
  assert.equal((await part(`bytes=${BIG}-`)).status, 416);
  const etag = whole.headers.get('etag') ?? '';
  assert.equal((await part('bytes=5-9', { 'if-range': etag })).status, 206);
  assert.equal((await part('bytes=5-9', { 'if-range': '"x"' })).status, 200);
  const known = await call('content?path=mods/a%20b.jar&raw=true', {
    headers: { 'if-none-match': etag },
  });
  assert.equal(known.status, 304);
  const head = await call('content?path=mods/a%20b.jar&raw=true', { method: 'HEAD' });
  assert.equal(head.headers.get('content-length'), String(BIG));
});

test('an upload replaces only what its conditions name, and an empty one makes an empty file', async (t) => {
  const { files, call, put } = await start(t);
  const empty = await put('path=empty&offset=0&size=0', Buffer.alloc(0));
  assert.equal(empty.body.data?.done, true, JSON.stringify(empty.body));
  files.put('map.jar', 'old');
  const create = { 'if-none-match': '*' };
  assert.equal((await put('path=map.jar&offset=0&size=1', Buffer.from('x'), create)).status, 412);
  assert.equal((await put('path=new.jar&offset=0&size=1', Buffer.from('x'), create)).status, 200);
  const read = await call('content?path=map.jar');
  const etag = read.headers.get('etag') ?? '';
  files.put('map.jar', 'changed');
  const match = { 'if-match': etag };
  assert.equal((await put('path=map.jar&offset=0&size=1', Buffer.from('x'), match)).status, 412);
  const raw = await call('content?path=map.jar&raw=true');
  const now = { 'if-match': raw.headers.get('etag') ?? '' };
  assert.equal((await put('path=map.jar&offset=0&size=1', Buffer.from('x'), now)).status, 200);
  assert.equal(readFileSync(join(files.folder, 'map.jar'), 'utf8'), 'x');
  // Written while the upload runs: the last byte finds another file.
  const begun = await call('content?path=map.jar');
  const early = { 'if-match': begun.headers.get('etag') ?? '' };
  await put('path=map.jar&offset=0&size=4', Buffer.from('ab'), early);
  files.put('map.jar', 'by the game');
  const late = await put('path=map.jar&offset=2&size=4', Buffer.from('cd'), early);
  assert.equal(late.status, 412);
  assert.equal(readFileSync(join(files.folder, 'map.jar'), 'utf8'), 'by the game');
  const json = await call('content?path=other', {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-none-match': '*' },
    body: JSON.stringify({ content: 'x' }),
  });
  assert.equal(json.status, 200);
});

test('what was received is dropped on request and after a day, and counts to the quota', async (t) => {
  const { files, call, put } = await start(t);
  await put('path=a&offset=0&size=9', Buffer.from('abc'));
  const key = { 'idempotency-key': 'abort-1' };
  const dropped = await call('upload?path=a', { method: 'DELETE', headers: key });
  assert.equal(dropped.status, 200);
  assert.ok(noTmp(files.folder));
  const none = await call('upload?path=a');
  assert.equal(((await none.json()) as Answered).data?.received, 0);
  await put('path=b&offset=0&size=9', Buffer.from('abc'));
  const uploads = join(files.folder, '.portcullis', 'uploads');
  const [name = ''] = readdirSync(uploads);
  await files.service.sweep();
  assert.equal(readdirSync(uploads).length, 1);
  utimesSync(join(uploads, name), new Date(), new Date(Date.now() - 25 * 3_600_000));
  await files.service.sweep();
  assert.equal(readdirSync(uploads).length, 0);
  files.limitMib = 2;
  const large = await put(`path=c&offset=0&size=${BIG}`, randomBytes(1024));
  assert.equal(large.status, 422);
  assert.equal(large.body.code, 'limit_exceeded');
  const more = await put('path=d&offset=0&size=4', randomBytes(1024 * 1024));
  assert.equal(more.body.code, 'limit_exceeded', JSON.stringify(more.body));
  assert.equal(existsSync(join(files.folder, 'd')), false);
});

test('folders are downloaded as an archive, without what the egg denies', async (t) => {
  const { files, call } = await start(t);
  files.put('world/level.dat', randomBytes(300_000));
  files.put('world/secret.key', 'x');
  files.denylist = ['secret.key', '**/secret.key'];
  const response = await call('download?path=world&format=tar.gz');
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-disposition') ?? '', /filename="world\.tar\.gz"/);
  const tar = gunzipSync(Buffer.from(await response.arrayBuffer())).toString('latin1');
  assert.ok(tar.includes('world/level.dat'));
  assert.equal(tar.includes('secret.key'), false);
  const zip = await call('download?path=world/level.dat&path=world&format=zip');
  assert.equal(Buffer.from(await zip.arrayBuffer()).toString('latin1', 0, 2), 'PK');
  assert.equal((await call('download?path=none&format=zip')).status, 404);
});

/** Keeps the tickets that control gives, and opens no stream. */
function keepTickets(world: { answer: (call: FileCall) => FileAnswer | null }): StreamTicket[] {
  const tickets: StreamTicket[] = [];
  world.answer = ({ operation }) => {
    if (!('ticket' in operation)) return null;
    tickets.push(operation.ticket);
    if (operation.kind === 'receive') return { kind: 'receiving' };
    const file = { tag: 'tag', size: 10, modifiedAtMs: 0, offset: 0, length: 10 };
    return { kind: 'sending', file };
  };
  return tickets;
}

test('a token opens one stream, of its node, server and direction', async (t) => {
  const { world, call, env } = await start(t);
  const tickets = keepTickets(world);
  const open = async (path: string, token: string, method = 'POST', body = '0123456789') => {
    const response = await fetch(`${env.url}/api/node-streams/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(method === 'POST' && { body }),
    });
    return response.status;
  };
  const own = `node-1/${uuidOf(1)}/up`;
  const begin = async (): Promise<{ token: string; response: Promise<Response> }> => {
    const before = tickets.length;
    const response = call('content?path=a&raw=true');
    await eventually('a ticket', async () => tickets.length > before);
    return { token: tickets.at(-1)?.token ?? '', response };
  };
  assert.equal(await open(own, 'x'.repeat(43)), 404);
  assert.equal(await open(own, ''), 404);
  for (const [path, method] of [
    [`node-2/${uuidOf(1)}/up`, 'POST'],
    [`node-1/${uuidOf(2)}/up`, 'POST'],
    [`node-1/${uuidOf(1)}/down`, 'GET'],
  ] as const) {
    const { token, response } = await begin();
    assert.equal(await open(path, token, method), 404, path);
    assert.equal((await response).status, 503, path);
    // It was good once.
    assert.equal(await open(own, token), 404);
  }
  const { token, response } = await begin();
  const sent = open(own, token);
  assert.equal(await (await response).text(), '0123456789');
  assert.equal(await sent, 204);
  assert.equal(await open(own, token), 404);
});

test('a node that sends more or less than it announced gives no whole file', async (t) => {
  const { world, call, env } = await start(t);
  const tickets = keepTickets(world);
  for (const body of ['01234567890123456789', '0123']) {
    const response = await (async () => {
      const before = tickets.length;
      const got = call('content?path=a&raw=true');
      await eventually('a ticket', async () => tickets.length > before);
      const token = tickets.at(-1)?.token ?? '';
      const sent = fetch(`${env.url}/api/node-streams/node-1/${uuidOf(1)}/up`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body,
      });
      sent.catch(() => undefined);
      return got;
    })();
    if (response.status === 200) await assert.rejects(response.text());
    else assert.equal(response.status, 503);
  }
});

test('a stream ends with the right by which it was opened', async (t) => {
  const { env, files, world, authorization } = await start(t);
  // More than fits between a sender and a reader that does not read.
  const size = 48 * 1024 * 1024;
  files.put('big', Buffer.alloc(size));
  const request = httpRequest(`${env.url}${FILES}/content?path=big&raw=true`, {
    headers: { authorization },
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
    request.end();
  });
  assert.equal(response.statusCode, 200);
  await sql`update api_keys set revoked_at = now()`.execute(env.db);
  env.access.forget();
  const [call] = world.calls;
  const id = call?.operation.kind === 'send' ? call.operation.ticket.id : '';
  await eventually('the node sends no more', async () => {
    return (await files.code({ kind: 'outcome', id })) === 'lost';
  });
  let received = 0;
  await assert.rejects(async () => {
    for await (const chunk of response) received += (chunk as Buffer).length;
  });
  assert.ok(received < size);
});

test('a body that is refused does not keep its sender from the answer', async (t) => {
  const { call } = await start(t);
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < 8; at += 1) controller.enqueue(new Uint8Array(1024 * 1024));
      controller.close();
    },
  });
  const refused = await call('upload?path=../x&offset=0&size=8388608', {
    method: 'PUT',
    body: source,
    duplex: 'half',
  });
  assert.equal(refused.status, 422);
});

test('an upload that breaks off goes on from what arrived', async (t) => {
  const { env, files, call, put, authorization } = await start(t);
  const bytes = randomBytes(BIG);
  const query = `path=world.zip&offset=0&size=${BIG}`;
  const request = httpRequest(`${env.url}${FILES}/upload?${query}`, {
    method: 'PUT',
    headers: { authorization, 'content-length': String(BIG) },
  });
  request.on('error', () => undefined);
  request.write(bytes.subarray(0, 3_000_000));
  const received = async (): Promise<number> =>
    ((await (await call('upload?path=world.zip')).json()) as Answered).data?.received ?? 0;
  await eventually('some arrived', async () => (await received()) > 1_000_000);
  request.destroy();
  // The sender goes on while the node may still wait for the rest of the first one.
  await eventually('all of it arrived', async () => {
    const from = await received();
    const reply = await put(`path=world.zip&offset=${from}&size=${BIG}`, bytes.subarray(from));
    return reply.status === 200 && reply.body.data?.done === true;
  });
  assert.ok(readFileSync(join(files.folder, 'world.zip')).equals(bytes));
});

test('two uploads at once to one path: the newer one counts', async (t) => {
  const { env, files, put, authorization } = await start(t);
  const older = httpRequest(`${env.url}${FILES}/upload?path=a&offset=0&size=100`, {
    method: 'PUT',
    headers: { authorization, 'content-length': '100' },
  });
  const answered = new Promise<number>((resolve, reject) => {
    older.on('error', reject);
    older.on('response', (response) => {
      void buffer(response);
      resolve(response.statusCode ?? 0);
    });
  });
  older.write('old');
  const uploads = join(files.folder, '.portcullis', 'uploads');
  const hasBegun = (name: string): boolean => statSync(join(uploads, name)).size === 3;
  await eventually(
    'the older one writes',
    async () => existsSync(uploads) && readdirSync(uploads).some(hasBegun),
  );
  const newer = await put('path=a&offset=0&size=3', Buffer.from('new'));
  assert.equal(newer.body.data?.done, true);
  assert.equal(await answered, 422);
  assert.equal(readFileSync(join(files.folder, 'a'), 'utf8'), 'new');
});
