import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { PASSWORD } from '@portcullis/control/accounts/testing.ts';
import { hashPassword } from '@portcullis/control/accounts/prove.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { dataOf } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { sql } from 'kysely';
import { skipUnless } from '../../requirements.ts';
import { eventually } from '../stack-fixture.ts';

const ACCOUNT = '/api/portal/account';
const UUID = uuidOf(1);
const log = { debug() {}, info() {}, warn() {}, error() {} };

interface World extends TestEnvironment {
  readonly port: number;
  /** The folder of the server. */
  readonly folder: string;
  /** A folder of the client. */
  readonly home: string;
  /** Runs commands of OpenSSH's sftp; rejects with what it wrote if one fails. */
  sftp(commands: string, person?: string): Promise<string>;
  /** Begins it, for what goes on meanwhile. */
  begin(): ChildProcess;
}

/** Control with its database, a node over the link, and a client that has an SFTP password of a member. */
async function start(t: TestContext): Promise<World> {
  const env = await startEnvironment(t);
  const home = mkdtempSync(join(tmpdir(), 'portcullis-sftp-'));
  const stateDir = join(home, 'node');
  mkdirSync(stateDir);
  const credential = await addNode(env.db, 'node-1');
  await addServer(env.db, { number: 1, built: false });
  const egg = JSON.stringify({ ...EGG, fileDenylist: ['locked.yml'] });
  await sql`update eggs set egg = ${egg}::jsonb`.execute(env.db);
  await sql`update people set password_hash = ${await hashPassword(PASSWORD)}`.execute(env.db);
  const listener = listen(env.databaseUrl, ['portcullis_access', 'portcullis_nodes'], (channel) => {
    const access = { kind: 'node.access' } as const;
    const assignments = { kind: 'node.assignments', nodes: ['node-1'] } as const;
    env.nodes.control.notify(channel === 'portcullis_access' ? access : assignments);
  });
  const node = createNode({
    name: 'node-1',
    link: env.nodes.connect({ kind: 'node', name: 'node-1' }, credential),
    engine: new FakeEngine(),
    stateDir,
    accounts: null,
    applyConfigFiles: async () => [],
    sftp: { host: '127.0.0.1', port: 0 },
    log,
  });
  node.start();
  t.after(async () => {
    await node.stop();
    await listener.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const folder = join(stateDir, 'servers', UUID);
  await eventually('the server is built', async () => {
    const { rows } = await sql`select from game_servers where build_state = 'built'`.execute(
      env.db,
    );
    return rows.length > 0;
  });
  const port = (await node.sftpPort) ?? 0;
  writeFileSync(join(home, 'ask'), '#!/bin/sh\nexec cat "$0.secret"\n', { mode: 0o700 });
  await makePassword(env, home);
  const begin = (person = 'member', batch = true): ChildProcess => {
    const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(home, 'known')}`];
    const args = [...options, 'BatchMode=no', 'ConnectTimeout=20'].flatMap((one) => ['-o', one]);
    const user = `${person}@acme.example.${UUID.slice(0, 8)}`;
    return spawn(
      'sftp',
      [...args, '-q', '-P', String(port), ...(batch ? ['-b', '-'] : []), `${user}@127.0.0.1`],
      {
        cwd: home,
        env: {
          ...process.env,
          SSH_ASKPASS: join(home, 'ask'),
          SSH_ASKPASS_REQUIRE: 'force',
          SSH_AUTH_SOCK: '',
          HOME: home,
        },
      },
    );
  };
  return {
    ...env,
    port,
    folder,
    home,
    begin: () => begin('member', false),
    async sftp(commands, person) {
      const client = begin(person);
      client.stdin?.on('error', () => undefined).end(`${commands}\n`);
      const output = Promise.all([
        text(client.stdout as NodeJS.ReadableStream),
        text(client.stderr as NodeJS.ReadableStream),
      ]);
      const [code] = (await once(client, 'exit')) as [number | null];
      const written = (await output).join('');
      if (code !== 0) throw new Error(`sftp ended with ${code}: ${written}`);
      return written;
    },
  };
}

async function makePassword(env: TestEnvironment, home: string): Promise<number> {
  const json = { name: 'laptop', days: 30, password: PASSWORD };
  const reply = await env.session('member').post(`${ACCOUNT}/sftp-passwords`, json);
  assert.equal(reply.status, 201, reply.text);
  const { id, password } = dataOf<{ id: number; password: string }>(reply);
  writeFileSync(join(home, 'ask.secret'), password);
  return id;
}

/** Gives the member a role by which it keeps no right but these. */
async function setRights(env: TestEnvironment, rights: readonly string[]): Promise<void> {
  await sql`
    with p as (select id from people where email = 'member@acme.example'),
         gone as (delete from members where person_id in (select id from p)),
         old as (delete from server_people where person_id in (select id from p))
    select 1`.execute(env.db);
  if (rights.length === 0) return;
  await sql`
    insert into server_people (server, person_id, rights)
    select ${UUID}, id, ${['websocket.connect', ...rights]}::text[] from people where email = 'member@acme.example'`.execute(
    env.db,
  );
}

test('OpenSSH puts, lists, gets, resumes, renames and deletes', {
  skip: skipUnless(['sshd']),
}, async (t) => {
  const world = await start(t);
  const { home, folder, sftp } = world;
  const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'portcullis');
  writeFileSync(join(home, 'large'), large);
  writeFileSync(join(home, 'empty'), '');
  const listed = await sftp('mkdir mods\nput large mods/large\nput empty\nls -la mods');
  assert.match(listed, /-rw-r--r--.* 3145745 .* large/);
  assert.deepEqual(readFileSync(join(folder, 'mods/large')), large);
  await sftp('get mods/large back');
  assert.deepEqual(readFileSync(join(home, 'back')), large);
  writeFileSync(join(home, 'back'), large.subarray(0, 1_000_000));
  await sftp('reget mods/large back');
  assert.deepEqual(readFileSync(join(home, 'back')), large);
  writeFileSync(join(folder, 'part'), large.subarray(0, 1_000_000));
  await sftp('reput large part');
  assert.deepEqual(readFileSync(join(folder, 'part')), large);
  await sftp('rename mods/large mods/new\nchmod 600 mods/new\nrm empty');
  assert.ok(existsSync(join(folder, 'mods/new')) && !existsSync(join(folder, 'empty')));
  await assert.rejects(sftp('rmdir mods'), /Failure|not empty/);
  await sftp('rm mods/new\nrmdir mods');
  assert.ok(!existsSync(join(folder, 'mods')));
  // The kept key of the host is the same for every connection.
  assert.equal(readFileSync(join(home, 'known'), 'utf8').trim().split('\n').length, 1);
});

test('a public key connects, and one that is deleted does not', {
  skip: skipUnless(['sshd']),
}, async (t) => {
  const world = await start(t);
  const { home, sftp } = world;
  rmSync(join(home, 'ask.secret'));
  await assert.rejects(sftp('ls'), /Permission denied|closed/);
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  const file = join(home, '.ssh', 'id_ed25519');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  chmodSync(file, 0o600);
  const json = {
    name: 'key',
    public_key: readFileSync(`${file}.pub`, 'utf8').trim(),
    password: PASSWORD,
  };
  const member = world.session('member');
  assert.equal((await member.post(`${ACCOUNT}/ssh-keys`, json)).status, 201);
  await sftpWithKey(world, file);
  const { keys } = dataOf<{ keys: { id: number; last_used_at: string | null }[] }>(
    await member.get(`${ACCOUNT}/sftp`),
  );
  assert.notEqual(keys[0]?.last_used_at, null);
  assert.equal((await member.delete(`${ACCOUNT}/ssh-keys/${keys[0]?.id}`, undefined)).status, 200);
  await assert.rejects(sftpWithKey(world, file), /Permission denied/);
});

async function sftpWithKey({ home, port }: World, file: string): Promise<void> {
  const options = [
    'StrictHostKeyChecking=no',
    `UserKnownHostsFile=${join(home, 'known')}`,
    'IdentitiesOnly=yes',
    'PreferredAuthentications=publickey',
  ];
  const args = options.flatMap((one) => ['-o', one]);
  const client = spawn('sftp', [
    ...args,
    '-i',
    file,
    '-P',
    String(port),
    '-b',
    '-',
    `member@acme.example.${UUID}@127.0.0.1`,
  ]);
  client.stdin.on('error', () => undefined).end('pwd\n');
  const errors = text(client.stderr);
  const [code] = (await once(client, 'exit')) as [number | null];
  if (code !== 0) throw new Error(await errors);
}

test('rights, the denylist, links and the quota hold', {
  skip: skipUnless(['sshd']),
}, async (t) => {
  const world = await start(t);
  const { home, folder, sftp } = world;
  writeFileSync(join(home, 'file'), 'mine');
  writeFileSync(join(folder, 'locked.yml'), 'locked');
  writeFileSync(join(folder, 'there'), 'there');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  const denied = /[Pp]ermission denied/;
  // What the egg denies does not even tell its size, so that the client calls it missing.
  const locked = /[Pp]ermission denied|not found/;
  for (const command of [
    'get locked.yml',
    'put file locked.yml',
    'rm locked.yml',
    'rename locked.yml a',
    'rename there locked.yml',
  ])
    await assert.rejects(sftp(command), locked, command);
  assert.match(await sftp('ls -l'), /lrwxrwxrwx.* link/);
  for (const command of [
    'get link',
    'put file link',
    'symlink /etc there2',
    'get /../../etc/passwd',
    'cd .portcullis',
  ])
    await assert.rejects(sftp(command), command);
  assert.equal(readFileSync(join(folder, 'locked.yml'), 'utf8'), 'locked');
  await sftp('rm link');
  // Bytes that are no UTF-8 have a spelling by which they are renamed.
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/a`), Buffer.from([0xff])]), 'odd');
  await sftp('rename a\uefff even');
  assert.equal(readFileSync(join(folder, 'even'), 'utf8'), 'odd');
  await sql`update game_servers set disk_mib = 8`.execute(world.db);
  writeFileSync(join(home, 'huge'), Buffer.alloc(12 * 1024 * 1024));
  await eventually('the quota holds', async () =>
    sftp('put huge').then(
      () => false,
      (error: Error) => /Failure|8 MiB/.test(error.message),
    ),
  );
  await setRights(world, ['file.sftp', 'file.read']);
  await sftp('ls');
  for (const command of [
    'get there',
    'put file new',
    'rm there',
    'mkdir a',
    'rename there a',
    'chmod 600 there',
  ])
    await assert.rejects(sftp(command), denied, command);
  await setRights(world, ['file.read', 'file.read-content']);
  await assert.rejects(sftp('ls'), /Permission denied|closed/);
  await assert.rejects(sftp('ls', 'stranger'), /Permission denied|closed/);
});

test('a session ends with its rights, and with its password', {
  skip: skipUnless(['sshd']),
}, async (t) => {
  const world = await start(t);
  const { folder } = world;
  writeFileSync(join(folder, 'there'), 'before');
  const ways: readonly (() => Promise<unknown>)[] = [
    () => setRights(world, []),
    () => sql`delete from sftp_passwords`.execute(world.db),
  ];
  for (const end of ways) {
    const client = world.begin();
    client.stdout?.resume();
    client.stdin?.on('error', () => undefined).write('ls\n');
    const exited = once(client, 'exit');
    const refused = text(client.stderr as NodeJS.ReadableStream).then(assert.fail);
    refused.catch(() => undefined);
    await Promise.race([once(client.stdout as NodeJS.ReadableStream, 'data'), refused]);
    const begunMs = performance.now();
    await end();
    // At its prompt it does not notice that its connection has ended.
    const asking = setInterval(() => client.stdin?.write('ls\n'), 50);
    await exited.finally(() => clearInterval(asking));
    const tookMs = performance.now() - begunMs;
    t.diagnostic(`cut after ${Math.round(tookMs)} ms`);
    // By the notice, and not by the check of every 30 s.
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    await sql`
      insert into members (organisation_id, person_id, role)
      select 1, id, 'member' from people where email = 'member@acme.example' on conflict do nothing`.execute(
      world.db,
    );
  }
  assert.equal(readFileSync(join(folder, 'there'), 'utf8'), 'before');
});
