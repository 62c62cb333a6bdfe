import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import type { TestClient, TestReply } from '@portcullis/control/testing/client.ts';
import { FolderWatch } from '@portcullis/node/files/testing/files.ts';
import { sql } from 'kysely';
import { FILES, INTERNET, serve, startFiles } from './world.ts';

type Door = (key: TestClient, path: string, url: string) => Promise<TestReply>;

/** Every operation of the API that reads or changes what is at a path. */
const DOORS: Readonly<Record<string, Door>> = {
  read: (key, path) => key.get(`${FILES}/content?path=${encodeURIComponent(path)}`),
  write: (key, path) =>
    key.put(`${FILES}/content?path=${encodeURIComponent(path)}`, { content: 'evil' }),
  'move away': (key, path) => key.post(`${FILES}/move`, { moves: [{ from: path, to: 'moved' }] }),
  'move over': (key, path) =>
    key.post(`${FILES}/move`, { moves: [{ from: 'plain', to: path }], replace: true }),
  'copy from': (key, path) => key.post(`${FILES}/copy`, { from: path, to: 'copied' }),
  'copy to': (key, path) => key.post(`${FILES}/copy`, { from: 'plain', to: path }),
  delete: (key, path) => key.delete(FILES, { paths: [path] }),
  'delete for good': (key, path) => key.delete(FILES, { paths: [path], permanently: true }),
  'make a folder': (key, path) => key.post(`${FILES}/folders`, { path }),
  'set a mode': (key, path) => key.post(`${FILES}/mode`, { files: [{ path, mode: '777' }] }),
  archive: (key, path) =>
    key.post(`${FILES}/archive`, { paths: [path], to: 'archived.tar', format: 'tar' }),
  'archive to': (key, path) =>
    key.post(`${FILES}/archive`, { paths: ['plain'], to: path, format: 'tar' }),
  unpack: (key, path) => key.post(`${FILES}/unpack`, { path, to: 'unpacked' }),
  'unpack to': (key, path) => key.post(`${FILES}/unpack`, { path: 'plain.gz', to: path }),
  pull: (key, path, url) => key.post(`${FILES}/pull`, { url, path, replace: true }),
};

/** Exchanges a folder for a link, again and again. */
const SWAPPER = '@portcullis/node/server-folder/testing/swap-links.ts';
const MADE = ['moved', 'copied', 'archived.tar', 'unpacked'];

test('no door follows a link out of the folder, or a path that leads out (CVE-2023-25152, CVE-2023-25168, GHSA-rhq6-9rgh-v45c)', async (t) => {
  const { files, key } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (_, response) => response.end('evil'));
  const watch = new FolderWatch(files.outside);
  files.put('plain', 'plain');
  files.put('plain.gz', gzipSync('plain'));
  symlinkSync(files.outside, join(files.folder, 'out'));
  symlinkSync('/', join(files.folder, 'root'));
  for (const path of ['out/secret', 'out/new', 'root/etc/passwd']) {
    for (const [door, through] of Object.entries(DOORS)) {
      const { status, text } = await through(key, path, `http://127.0.0.1:${port}/`);
      // A file in the way of a folder is left out, and the job says so.
      const isLeftOut = door === 'unpack to' && /was left out/.test(text);
      assert.ok([404, 422].includes(status) || isLeftOut, `${door} ${path}: ${status} ${text}`);
      assert.doesNotMatch(text, /"content":"secret/, door);
      for (const name of MADE) assert.equal(existsSync(join(files.folder, name)), false, door);
    }
  }
  for (const path of [
    '../outside/secret',
    '/../outside/secret',
    'a/../../outside/new',
    '.portcullis/bin/x',
  ]) {
    for (const [door, through] of Object.entries(DOORS)) {
      const { status } = await through(key, path, `http://127.0.0.1:${port}/`);
      assert.equal(status, 422, `${door} ${path}`);
    }
  }
  watch.assertSame();
});

test('no door passes the denylist of an egg (panel#5042)', async (t) => {
  const { files, key } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (_, response) => response.end('evil'));
  files.denylist = ['secrets', '*.key'];
  files.put('plain', 'plain');
  files.put('plain.gz', gzipSync('plain'));
  files.put('conf/a.key', 'token');
  files.put('secrets/b', 'token');
  for (const path of ['conf/a.key', 'secrets/b', 'secrets', 'new.key']) {
    for (const [door, through] of Object.entries(DOORS)) {
      const { status, text } = await through(key, path, `http://127.0.0.1:${port}/`);
      assert.equal(status, 422, `${door} ${path}: ${text}`);
      assert.match(text, /The egg of the server denies/, door);
    }
  }
  assert.equal(readFileSync(join(files.folder, 'conf/a.key'), 'utf8'), 'token');
});

test('no door is open to a person without the right to it', async (t) => {
  const { files, session, db } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (_, response) => response.end('evil'));
  files.put('plain', 'plain');
  files.put('plain.gz', gzipSync('plain'));
  await sql`delete from members where person_id = (select id from people where email = 'member@acme.example')`.execute(
    db,
  );
  await sql`
    insert into server_people (server, person_id, rights)
    select uuid, p.id, '{websocket.connect,file.read}' from game_servers, people p
     where p.email = 'member@acme.example'`.execute(db);
  const member = session('member');
  const base = '/api/portal/organisations/acme/x1';
  const guest = {
    get: (path: string) => member.get(path.replace('/api/x1', base)),
    put: (path: string, json: object) => member.put(path.replace('/api/x1', base), json),
    post: (path: string, json: object) => member.post(path.replace('/api/x1', base), json),
    delete: (path: string, json: object) => member.delete(path.replace('/api/x1', base), json),
  } as unknown as TestClient;
  const before = readdirSync(files.folder).toSorted();
  for (const [door, through] of Object.entries(DOORS)) {
    const { status, text } = await through(guest, 'plain', `http://127.0.0.1:${port}/`);
    assert.equal(status, 403, `${door}: ${text}`);
  }
  assert.deepEqual(readdirSync(files.folder).toSorted(), before);
  assert.equal(readFileSync(join(files.folder, 'plain'), 'utf8'), 'plain');
});

test('a folder that becomes a link during the operations leads nowhere (CVE-2024-27102)', async (t) => {
  const { files, key } = await startFiles(t);
  files.pulls = { networks: INTERNET };
  const port = await serve(t, (_, response) => response.end('evil'));
  const watch = new FolderWatch(files.outside);
  files.put('plain', 'plain');
  files.put('plain.gz', gzipSync('plain'));
  mkdirSync(join(files.folder, 'conf'));
  const swapper = new Worker(new URL(import.meta.resolve(SWAPPER)), {
    workerData: { folder: files.folder, outside: files.outside },
  });
  t.after(() => swapper.terminate());
  await once(swapper, 'online');
  for (let round = 0; round < 10; round += 1) {
    for (const [door, through] of Object.entries(DOORS)) {
      if (door.startsWith('move') || door.startsWith('delete')) continue;
      const { text } = await through(key, 'conf/secret', `http://127.0.0.1:${port}/`);
      assert.doesNotMatch(text, /"content":"secret/, door);
    }
    for (const name of MADE) rmSync(join(files.folder, name), { recursive: true, force: true });
  }
  await swapper.terminate();
  watch.assertSame();
});
