import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CommandSession, RunningCommand } from '@portcullis/cli/testing/run.ts';
import { TestNode } from '@portcullis/control/game-servers/testing/node.ts';
import { addNode, addServer } from '@portcullis/control/game-servers/testing/servers.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import type { FileRange } from '@portcullis/link/messages/files.ts';
import { TestFiles } from '@portcullis/node/files/testing/files.ts';

/** The command, the API, the link and the real files of a node. */
async function start(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-command-files-'));
  const world = await startEnvironment(t);
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  const node = await new TestNode(world.nodes, 'node-1', await addNode(world.db, 'node-1')).join();
  await addServer(world.db, { number: 1, name: 'Survival' });
  const files = new TestFiles(t);
  const sent: (FileRange | null)[] = [];
  node.link.onCall(async (call) => {
    if (call.kind !== 'node.files') return null;
    if (call.operation.kind === 'send') sent.push(call.operation.range);
    return files.service.run(call);
  });
  const abilities = ['game-servers.read', 'game-servers.files'];
  const { authorization } = await world.client({ abilities });
  const session = new CommandSession({ PATH: process.env['PATH'], HOME: home, TZ: 'UTC' });
  t.after(async () => {
    await session.close();
    await node.link.close();
    rmSync(home, { recursive: true, force: true });
  });
  const env = {
    PORTCULLIS_URL: world.url,
    PORTCULLIS_API_KEY: (authorization ?? '').replace('Bearer ', ''),
  };
  const run = (more: NodeJS.ProcessEnv, ...args: readonly string[]) =>
    session.run(['servers', 'files', ...args], { ...env, ...more });
  const begin = (...args: readonly string[]) =>
    new RunningCommand(['servers', 'files', ...args], {
      ...env,
      PATH: process.env['PATH'],
      HOME: home,
    });
  return { home, files, sent, run: run.bind(null, {}), runWith: run, begin };
}

test('puts, lists, reads, edits, moves, copies, finds and deletes files of a server', async (t) => {
  const { home, files, run, runWith } = await start(t);
  const ok = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(...args);
    assert.equal(code, 0, `${args.join(' ')}: ${err}`);
    return out;
  };
  const local = join(home, 'server.properties');
  writeFileSync(local, 'motd=Hello\nmax-players=20\n');
  assert.match(await ok('put', 'Survival', local, 'conf/server.properties'), /26 bytes written/);
  assert.match(await ok('put', 'Survival', local, 'conf/'), /^conf\/server\.properties: 26 bytes/);
  assert.match(await ok('put', 'Survival', local, 'more/'), /^more\/server\.properties: 26 bytes/);
  assert.match(await ok('ls', 'Survival'), /conf\//);
  assert.match(await ok('ls', 'Survival', 'conf'), /server\.properties +26 B +2\d{3}-.* 644/);
  assert.equal(await ok('get', 'Survival', 'conf/server.properties'), readFileSync(local, 'utf8'));
  await ok('get', 'Survival', 'conf/server.properties', join(home, 'copy'));
  assert.equal(readFileSync(join(home, 'copy'), 'utf8'), readFileSync(local, 'utf8'));

  const editor = join(home, 'editor');
  writeFileSync(editor, '#!/bin/sh\nsed -i s/Hello/Bye/ "$1"\n');
  chmodSync(editor, 0o755);
  const edited = await runWith({ EDITOR: editor }, 'edit', 'Survival', 'conf/server.properties');
  assert.deepEqual([edited.code, edited.err], [0, '']);
  const path = join(files.folder, 'conf/server.properties');
  assert.match(readFileSync(path, 'utf8'), /motd=Bye/);
  // The game writes while the editor is open.
  writeFileSync(editor, `#!/bin/sh\necho changed > ${path}\necho mine > "$1"\n`);
  const late = await runWith({ EDITOR: editor }, 'edit', 'Survival', 'conf/server.properties');
  assert.equal(late.code, 1);
  assert.match(late.err, /was changed since it was read/);
  assert.equal(readFileSync(path, 'utf8'), 'changed\n');

  assert.match(await ok('mkdir', 'Survival', 'old'), /old made/);
  await ok('cp', 'Survival', 'conf', 'old/conf');
  await ok('mv', 'Survival', 'conf/server.properties', 'conf/a.cfg');
  await ok('chmod', 'Survival', '600', 'conf/a.cfg');
  assert.equal(statSync(join(files.folder, 'conf/a.cfg')).mode & 0o777, 0o600);
  assert.match(await ok('find', 'Survival', '--name', '*.cfg'), /^conf\/a\.cfg$/m);
  assert.match(
    await ok('find', 'Survival', '--text', 'changed'),
    /old\/conf\/server\.properties:1: /,
  );
  assert.match(await ok('du', 'Survival'), /KiB +3 +old/);

  assert.match(
    await ok('archive', 'Survival', 'all.tar.zst', 'conf'),
    /archive of 1 files is done/,
  );
  await ok('unpack', 'Survival', 'all.tar.zst', 'unpacked');
  assert.equal(readFileSync(join(files.folder, 'unpacked/conf/a.cfg'), 'utf8'), 'changed\n');
  assert.match(await ok('jobs', 'Survival'), /unpack +done +2 +0 MiB +all\.tar\.zst/);

  assert.match(await ok('rm', 'Survival', 'conf/a.cfg'), /moved to the bin/);
  assert.equal(existsSync(join(files.folder, 'conf/a.cfg')), false);
  const { data } = JSON.parse(await ok('bin', 'Survival', '--json')) as { data: { id: string }[] };
  await ok('restore', 'Survival', data[0]?.id ?? '');
  assert.equal(existsSync(join(files.folder, 'conf/a.cfg')), true);
  await ok('rm', 'Survival', 'old', '--permanently');
  await ok('empty', 'Survival');
  assert.match(await ok('bin', 'Survival'), /The bin is empty/);
});

test('puts and gets folders and large files, and goes on with what broke off', async (t) => {
  const { home, files, sent, run, runWith } = await start(t);
  const local = join(home, 'plugins');
  mkdirSync(join(local, 'maps'), { recursive: true });
  const large = randomBytes(9 * 1024 * 1024);
  writeFileSync(join(local, 'large.jar'), large);
  writeFileSync(join(local, 'maps', 'a.yml'), 'a: 1\n');
  // Times of files are listed in whole seconds, so one that was made in the second of its upload counts as newer.
  const before = new Date(Date.now() - 10_000);
  for (const file of ['large.jar', 'maps/a.yml']) utimesSync(join(local, file), before, before);
  const first = await run('put', 'Survival', local, 'mods');
  assert.match(first.out, /2 files, \d+ bytes written; 0 were there already/, first.err);
  assert.ok(readFileSync(join(files.folder, 'mods/large.jar')).equals(large));
  const again = await run('put', 'Survival', local, 'mods');
  assert.match(again.out, /0 files, 0 bytes written; 2 were there already/);
  writeFileSync(join(local, 'maps', 'a.yml'), 'a: 2\n');
  assert.match((await run('put', 'Survival', local, 'mods')).out, /1 files, .* 1 were there/);
  assert.equal(readFileSync(join(files.folder, 'mods/maps/a.yml'), 'utf8'), 'a: 2\n');
  const put = ['put', 'Survival', local, 'mods', '--no-resume', '--json'];
  assert.equal(JSON.parse((await runWith({}, ...put)).out).data.files, 2);

  const got = join(home, 'got');
  const read = await run('get', 'Survival', 'mods', got);
  assert.equal(read.code, 0, read.err);
  assert.ok(readFileSync(join(got, 'large.jar')).equals(large));
  assert.equal(readFileSync(join(got, 'maps/a.yml'), 'utf8'), 'a: 2\n');
  // Broken off: the first part is beside it, under the tag that it is a part of.
  const one = join(home, 'one.jar');
  await run('get', 'Survival', 'mods/large.jar', one);
  assert.deepEqual(
    readdirSync(home).filter((name) => name.endsWith('.part')),
    [],
  );
  rmSync(one);
  const { tag } = await files.ok('tagged', { kind: 'tag', path: 'mods/large.jar' });
  const part = join(
    home,
    `.one.jar.${hash('sha256', tag ?? '', 'base64url').slice(0, 27)}.bytes.part`,
  );
  writeFileSync(part, large.subarray(0, 5_000_000));
  assert.equal((await run('get', 'Survival', 'mods/large.jar', one)).code, 0);
  assert.ok(readFileSync(one).equals(large));
  assert.ok(sent.some((range) => range?.start === 5_000_000));
  // Of a file that has changed meanwhile, nothing is used.
  rmSync(one);
  writeFileSync(part, large.subarray(0, 5_000_000));
  const other = randomBytes(6 * 1024 * 1024);
  files.put('mods/large.jar', other);
  assert.equal((await run('get', 'Survival', 'mods/large.jar', one)).code, 0);
  assert.ok(readFileSync(one).equals(other));
});

test('says why something was not done, with an exit code of its own', async (t) => {
  const { files, run } = await start(t);
  files.denylist = ['secret.yml'];
  files.put('secret.yml', 'x');
  for (const [args, code, says] of [
    [['get', 'Survival', 'none'], 1, /There is no none/],
    [['get', 'Survival', 'secret.yml'], 1, /egg of the server denies secret\.yml/],
    [['rm', 'Survival', '../x'], 2, /no file name/],
    [['chmod', 'Survival', '4755', 'a'], 2, /4755 is not a mode/],
    [['rm', 'Survival', 'secret.yml', 'none'], 1, /2 of 2 were not changed/],
    [['find', 'Survival'], 2, /give --name or --text/],
    [['put', 'Survival', '/does/not/exist', 'a'], 2, /it does not exist/],
  ] as const) {
    const done = await run(...args);
    assert.match(done.err, says);
    assert.equal(done.code, code, `${args.join(' ')}: ${done.err}`);
  }
});

test('pulls a file from a URL, shows the job, and says why a pull was refused', async (t) => {
  const { files, run, begin } = await start(t);
  const server = createServer((request, response) => {
    if (request.url === '/hang.jar') response.write('half');
    else response.end('the map');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const network = parseCidr('127.0.0.1/32');
  assert.ok(network.ok);
  files.pulls = { networks: [network.value] };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pulled = await run('pull', 'Survival', `${url}/a%20map.jar`);
  assert.deepEqual([pulled.code, pulled.err], [0, '']);
  assert.equal(readFileSync(join(files.folder, 'a map.jar'), 'utf8'), 'the map');
  await run('pull', 'Survival', `${url}/b`, 'plugins/map.jar');
  assert.equal(readFileSync(join(files.folder, 'plugins/map.jar'), 'utf8'), 'the map');
  for (const [args, code, says] of [
    [['pull', 'Survival', `${url}/c`, 'plugins/map.jar'], 1, /There is a file plugins\/map\.jar/],
    [['pull', 'Survival', `${url}/`], 2, /names no file; say where it goes/],
    [['pull', 'Survival', 'map.jar'], 2, /map\.jar is no URL/],
    [['pull', 'Survival', 'http://10.0.0.1/map.jar'], 1, /names 10\.0\.0\.1, and only public/],
    [['cancel', 'Survival', 'none'], 1, /There is no job none/],
  ] as const) {
    const done = await run(...args);
    assert.match(done.err, says);
    assert.equal(done.code, code, `${args.join(' ')}: ${done.err}`);
  }
  const replaced = await run('pull', 'Survival', `${url}/c`, 'plugins/map.jar', '--replace');
  assert.equal(replaced.code, 0, replaced.err);
  const hanging = begin('pull', 'Survival', `${url}/hang.jar`);
  let listed = '';
  while (!listed.includes('running')) listed = (await run('jobs', 'Survival')).out;
  const [, id = ''] = /pull +running +0 +0 MiB +hang\.jar +([0-9a-f-]{36})/.exec(listed) ?? [];
  const cancelled = await run('cancel', 'Survival', id);
  assert.match(cancelled.out, /The pull of hang\.jar is cancelled/);
  const ended = await hanging.end();
  assert.equal(ended.code, 1);
  assert.match(ended.err, /It was cancelled\./);
  const [done = ''] =
    /[0-9a-f-]{36}$/m.exec(listed.split('\n').find((line) => line.includes('done')) ?? '') ?? [];
  assert.match((await run('cancel', 'Survival', done)).out, /The pull of .* had ended: done/);
});
