import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import type { FileAnswer, FileCall } from '@portcullis/link/messages/files.ts';
import { assertRefused } from '../../testing/client.ts';
import { OTHER, startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { TestNode } from '../testing/node.ts';
import { addNode, addServer, uuidOf } from '../testing/servers.ts';

const FILES = 'game-servers.files';
const at = (number: number): string => `/api/x1/game-servers/${uuidOf(number)}/files`;

type Answer = (call: FileCall) => FileAnswer | null | Promise<FileAnswer | null>;

/** A node that answers file calls by this function. */
async function start(t: TestContext): Promise<
  TestEnvironment & {
    readonly calls: FileCall[];
    answer: Answer;
  }
> {
  const world = await startEnvironment(t);
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  t.after(() => node.link.close());
  const calls: FileCall[] = [];
  const answer: Answer = () => null;
  const files = { ...world, calls, answer };
  node.link.onCall(async (call) => {
    if (call.kind !== 'node.files') return null;
    calls.push(call);
    return files.answer(call);
  });
  return files;
}

const DONE: FileAnswer = { kind: 'done', done: ['a'], failed: [] };
const content = (text: string, tag: string): FileAnswer => ({
  kind: 'content',
  content: Buffer.from(text).toString('base64'),
  tag,
  size: text.length,
  modifiedAtMs: 1_000,
  mode: 0o644,
});

test('lists a folder with the spelling of the interface, and passes page, order and rights on', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  world.answer = () => ({
    kind: 'entries',
    entries: [
      {
        name: 'a.jar',
        type: 'file',
        size: 3,
        modifiedAtMs: 1_795_000_000_000,
        mode: 0o644,
        denied: false,
        content: 'archive',
      },
    ],
    total: 7,
    complete: true,
  });
  const reader = await world.client({ abilities: [FILES] });
  const path = `${at(1)}?path=/plugins/&sort=size&order=descending&page=3&per_page=2&content=true`;
  const { status, body } = await reader.get(path);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    data: [
      {
        name: 'a.jar',
        path: 'plugins/a.jar',
        type: 'file',
        size: 3,
        modified_at: '2026-11-18T11:06:40+00:00',
        mode: '644',
        denied: false,
        content: 'archive',
      },
    ],
    meta: { current_page: 3, per_page: 2, total: 7, complete: true },
  });
  const [call] = world.calls;
  assert.deepEqual(call?.rights, FILE_RIGHTS);
  assert.deepEqual(call?.operation, {
    kind: 'list',
    path: 'plugins',
    sort: 'size',
    descending: true,
    offset: 4,
    limit: 2,
    withContent: true,
  });
});

test('a key needs the ability of files, a person a right to them, and the node gets what each has', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  world.answer = () => DONE;
  const folder = { path: 'new' };
  const without = await world.client({ abilities: ['game-servers.read', 'game-servers.manage'] });
  assertRefused(await without.get(at(1)), 403, 'ability_missing');
  const session = `/api/portal/organisations/acme/x1/game-servers/${uuidOf(1)}/files`;
  // Files hold passwords, which a role that only reads may not see.
  assertRefused(await world.session('read-only').get(session), 403, 'ability_missing');
  assert.equal(world.calls.length, 0);
  const key = await world.client({ abilities: [FILES] });
  assert.equal((await key.post(`${at(1)}/folders`, folder)).status, 200);
  assert.deepEqual(world.calls.at(-1)?.rights, FILE_RIGHTS);
  assert.equal((await world.session('member').post(`${session}/folders`, folder)).status, 200);
  assert.ok(world.calls.at(-1)?.rights.includes('file.create'));
  await sql`
    insert into server_people (server, person_id, rights)
    select ${uuidOf(1)}, id, '{websocket.connect,file.read}' from people where name = 'read-only'`.execute(
    world.db,
  );
  world.answer = () => ({ kind: 'refused', code: 'forbidden', reason: 'This needs more.' });
  const refused = await world.session('read-only').post(`${session}/folders`, folder);
  assertRefused(refused, 403, 'ability_missing');
  assert.deepEqual(world.calls.at(-1)?.rights, ['file.read']);
});

test('a server of others, or one that the key may not manage, is 404 for every operation', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  await sql`insert into services (id, organisation_id, name, owner) values (601, ${OTHER}, 'lobby', 'fleet')`.execute(
    world.db,
  );
  await addServer(world.db, { number: 900, service: 601 });
  const key = await world.client({ abilities: [FILES], managedServers: [] });
  const acme = await world.client({ abilities: [FILES] });
  for (const [client, number] of [
    [key, 1],
    [acme, 900],
    [acme, 77],
  ] as const) {
    assertRefused(await client.get(at(number)), 404, 'not_found');
    assertRefused(await client.get(`${at(number)}/content?path=a`), 404, 'not_found');
    assertRefused(await client.post(`${at(number)}/folders`, { path: 'a' }), 404, 'not_found');
    const write = await client.put(
      `${at(number)}/content?path=a`,
      { content: 'x' },
      { 'if-match': '*' },
    );
    assertRefused(write, 404, 'not_found');
  }
  assert.equal(world.calls.length, 0);
});

test('a file is read with a tag, and written only on what was read', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  let present: FileAnswer = content('one', 'tag-one');
  world.answer = ({ operation }) => {
    if (operation.kind === 'read') return present;
    if (operation.kind === 'tag')
      return { kind: 'tagged', tag: present.kind === 'content' ? present.tag : null };
    return { kind: 'written', tag: 'tag-two', size: 3, created: false };
  };
  const path = `${at(1)}/content?path=server.properties`;
  const read = await key.get(path);
  assert.deepEqual(read.body, {
    data: {
      path: 'server.properties',
      encoding: 'utf-8',
      content: 'one',
      size: 3,
      modified_at: '1970-01-01T00:00:01+00:00',
      mode: '644',
    },
  });
  const etag = { 'if-match': read.headers.get('etag') ?? '' };
  const body = { content: 'two\n', mode: '0600' };
  assert.equal((await key.put(path, body, etag)).status, 200);
  assert.deepEqual(world.calls.at(-1)?.operation, {
    kind: 'write',
    path: 'server.properties',
    content: Buffer.from('two\n').toString('base64'),
    mode: 0o600,
    expected: 'tag-one',
  });
  present = content('by the game', 'tag-three');
  assertRefused(await key.put(path, body, etag), 412, 'precondition_failed');
  present = { kind: 'refused', code: 'not_found', reason: 'There is no server.properties.' };
  assertRefused(await key.put(path, body, etag), 412, 'precondition_failed');
  assertRefused(await key.get(path), 404, 'not_found');
  assert.equal((await key.put(path, body)).status, 200);
});

test('what is no text is base64, and 4 MiB go through', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  const bytes = Buffer.alloc(4 * 1024 * 1024, 0xff);
  world.answer = ({ operation }) =>
    operation.kind === 'read'
      ? ({ ...(content('', 't') as object), content: bytes.toString('base64') } as FileAnswer)
      : { kind: 'written', tag: 't', size: 4, created: true };
  const path = `${at(1)}/content?path=a`;
  const { data } = (await key.get(path)).body as { data: { encoding: string; content: string } };
  assert.equal(data.encoding, 'base64');
  assert.equal(data.content.length, bytes.toString('base64').length);
  const written = await key.put(path, { content: data.content, encoding: 'base64' });
  assert.equal(written.status, 200, written.text);
  const more = Buffer.concat([bytes, Buffer.of(1)]).toString('base64');
  const refused = await key.put(path, {
    content: more.slice(0, -4) + more.slice(-4),
    encoding: 'base64',
  });
  assert.ok([413, 422].includes(refused.status), `${refused.status}`);
  assertRefused(await key.put(path, { content: 'a\0b' }), 422, 'invalid_request');
  assertRefused(await key.put(path, { content: '%%', encoding: 'base64' }), 422, 'invalid_request');
});

test('a path that leads upward or is reserved is 422, and reaches no node', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  for (const path of ['../x', 'a/../../x', '.portcullis/bin', 'a//b']) {
    const encoded = encodeURIComponent(path);
    assertRefused(await key.get(`${at(1)}?path=${encoded}`), 422, 'invalid_request');
    assertRefused(await key.delete(at(1), { paths: [path] }), 422, 'invalid_request');
    const move = { moves: [{ from: 'a', to: path }] };
    assertRefused(await key.post(`${at(1)}/move`, move), 422, 'invalid_request');
  }
  const modes = { files: [{ path: 'a', mode: '4755' }] };
  assertRefused(await key.post(`${at(1)}/mode`, modes), 422, 'invalid_request');
  assert.equal(world.calls.length, 0);
});

test('a refusal of the node has its problem, and a node that is away is 503', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  await addServer(world.db, { number: 2, built: false });
  const key = await world.client({ abilities: [FILES] });
  const folder = { path: 'a' };
  for (const [code, status, problem] of [
    ['exists', 422, 'conflict'],
    ['denied', 422, 'conflict'],
    ['quota', 422, 'limit_exceeded'],
    ['not_found', 404, 'not_found'],
    ['unavailable', 422, 'conflict'],
  ] as const) {
    world.answer = () => ({ kind: 'refused', code, reason: 'Because.' });
    const reply = await key.post(`${at(1)}/folders`, folder);
    assertRefused(reply, status, problem);
    assert.equal((reply.body as { detail: string }).detail, 'Because.');
  }
  assertRefused(await key.get(at(2)), 422, 'conflict');
  await addServer(world.db, { number: 4 });
  await sql`update game_servers set suspended = true where uuid = ${uuidOf(4)}`.execute(world.db);
  const { length } = world.calls;
  assertRefused(await key.get(at(4)), 422, 'conflict');
  assert.equal(world.calls.length, length, 'its node is not asked');
  await addNode(world.db, 'node-2');
  await addServer(world.db, { number: 3, node: 'node-2' });
  const away = await key.get(at(3));
  assertRefused(away, 503, 'unavailable');
  assert.equal(away.headers.get('retry-after'), '5');
});

test('changes are in the audit trail with their outcome and without content', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  world.answer = ({ operation }) =>
    operation.kind === 'write'
      ? { kind: 'written', tag: 't', size: 6, created: true }
      : { kind: 'done', done: ['a'], failed: [{ path: 'b', code: 'denied', reason: 'No.' }] };
  await key.put(`${at(1)}/content?path=a`, { content: 'secret' });
  await key.delete(at(1), { paths: ['a', 'b'] });
  const { rows } = await sql<{ action: string; target: string; detail: object }>`
    select action, target, detail from audit where action like 'server.files.%' order by id`.execute(
    world.db,
  );
  assert.deepEqual(rows, [
    {
      action: 'server.files.write',
      target: `server:${uuidOf(1)}`,
      detail: { path: 'a', size: 6, mode: null, expected: null, ok: true },
    },
    {
      action: 'server.files.delete',
      target: `server:${uuidOf(1)}`,
      detail: { paths: ['a', 'b'], forGood: false, ok: false, failed: 1, message: 'No.' },
    },
  ]);
});

test('the activity has as done what the node did, and says of the rest that it was refused', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  const reason = 'It has too many files.';
  world.answer = ({ operation: { kind } }) => {
    if (kind === 'write') return { kind: 'refused', code: 'quota', reason };
    return { kind: 'done', done: ['a'], failed: [{ path: 'b', code: 'denied', reason: 'No.' }] };
  };
  assertRefused(await key.put(`${at(1)}/content?path=a`, { content: 'x' }), 422, 'limit_exceeded');
  assert.equal((await key.delete(at(1), { paths: ['a', 'b'] })).status, 200);
  world.answer = () => DONE;
  assert.equal((await key.delete(at(1), { paths: ['c'] })).status, 200);
  const { rows } = await sql<{ action: string; detail: object }>`
    select action, detail from server_activity order by id`.execute(world.db);
  assert.partialDeepStrictEqual(rows, [
    { action: 'files.write', detail: { path: 'a', refused: reason } },
    { action: 'files.delete', detail: { paths: ['a', 'b'], failed: 1, refused: 'No.' } },
    { action: 'files.delete', detail: { paths: ['c'] } },
  ]);
  assert.deepEqual(rows[2]?.detail, { paths: ['c'], forGood: false });
});

test('what was begun before a server passed to another organisation is not in the activity of that one', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  await sql`
    insert into services (id, organisation_id, name, owner) values (599, ${OTHER}, 's', 'fleet')`.execute(
    world.db,
  );
  world.answer = async () => {
    await sql`update game_servers set organisation_id = ${OTHER}, service_id = 599`.execute(
      world.db,
    );
    return DONE;
  };
  assert.equal((await key.post(`${at(1)}/folders`, { path: 'new' })).status, 200);
  const { rows } = await sql`select from server_activity`.execute(world.db);
  assert.equal(rows.length, 0);
});

test('the activity of a server takes an operation on many long paths, also one that is refused', async (t) => {
  const world = await start(t);
  await addServer(world.db, { number: 1 });
  const key = await world.client({ abilities: [FILES] });
  world.answer = () => DONE;
  const paths = Array.from({ length: 100 }, (_, index) => `${'名'.repeat(80)}/`.repeat(5) + index);
  assert.equal((await key.delete(at(1), { paths })).status, 200);
  const moves = paths.map((from) => ({ from, to: `to ${from}` }));
  const [path = ''] = paths;
  world.answer = () => ({
    kind: 'done',
    done: [],
    failed: [{ path, code: 'not_found', reason: `There is no ${path}.` }],
  });
  assert.equal((await key.post(`${at(1)}/move`, { moves })).status, 200);
  const { rows } = await sql<{ action: string }>`select action from server_activity`.execute(
    world.db,
  );
  assert.deepEqual(rows, [{ action: 'files.delete' }, { action: 'files.move' }]);
});
