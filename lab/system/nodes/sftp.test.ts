import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { PASSWORD } from '@portcullis/control/accounts/testing.ts';
import { dataOf } from '@portcullis/control/testing/client.ts';
import type { TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { sql } from 'kysely';
import { skipUnless } from '../../requirements.ts';
import { eventually } from '../stack-fixture.ts';
import { ACCOUNT, startSftpWorld, type SftpWorld, UUID } from './sftp-world.ts';

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
  const world = await startSftpWorld(t);
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
  const world = await startSftpWorld(t);
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

async function sftpWithKey({ home, port }: SftpWorld, file: string): Promise<void> {
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
  const world = await startSftpWorld(t);
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
  const world = await startSftpWorld(t);
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
