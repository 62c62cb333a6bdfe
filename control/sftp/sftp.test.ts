import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { PASSWORD } from '../accounts/testing.ts';
import { uuidOf } from '../game-servers/testing/servers.ts';
import { dataOf } from '../testing/client.ts';
import { loadRights } from './store.ts';
import { ACCOUNT, admitted, startSftpWorld } from './testing.ts';

const KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfTVY4PBcBCVmdEiHKEYlbLSTaTnvTkqQTVdgKDHpVB ada@laptop';

test('admits a made password to servers of the node alone, and never that of the account', async (t) => {
  const world = await startSftpWorld(t);
  const { password: secret } = await world.makePassword();
  assert.match(secret, /^pcs_[\w-]{24}$/);
  const { rights, actor, session } = admitted(await world.login({ secret }));
  assert.ok(rights.includes('file.sftp') && actor === 'member@acme.example');
  assert.deepEqual(await world.check(session), rights);
  admitted(await world.login({ secret, email: 'MEMBER@acme.example' }));
  const { rows } = await sql<{ door: string; times: number }>`
    select door, sum(times)::int as times from server_activity group by door`.execute(world.db);
  assert.deepEqual(rows, [{ door: 'sftp', times: 2 }]);
  for (const changes of [
    { secret: PASSWORD },
    { secret, server: uuidOf(2) },
    { secret, server: '6f1c2f1' },
    { secret, server: '%' },
    { secret, email: 'admin@acme.example' },
    { secret, method: 'key' },
  ] as const)
    assert.equal((await world.login(changes)).kind, 'sftp.denied', JSON.stringify(changes));
});

test('admits a key, and takes none that is not whole, weak, known or private', async (t) => {
  const world = await startSftpWorld(t);
  const member = world.session('member');
  const add = async (public_key: string, password = PASSWORD): Promise<number> =>
    (await member.post(`${ACCOUNT}/ssh-keys`, { name: 'k', public_key, password })).status;
  assert.equal(await add(KEY, 'wrong'), 422);
  assert.equal(await add(KEY), 201);
  const weak = `ssh-rsa ${Buffer.concat([field('ssh-rsa'), field('\x01'), field('\x7f'.repeat(128))]).toString('base64')}`;
  for (const line of [
    KEY,
    KEY.slice(0, 50),
    'nonsense',
    '-----BEGIN OPENSSH PRIVATE KEY-----',
    weak,
  ])
    assert.equal(await add(line), 422, line);
  const secret = KEY.split(' ')[1] ?? '';
  const { session } = admitted(await world.login({ secret, method: 'key', proved: false }));
  const read = async () =>
    dataOf<{ keys: { id: number; fingerprint: string; last_used_at: string | null }[] }>(
      await member.get(`${ACCOUNT}/sftp`),
    ).keys[0];
  assert.equal((await read())?.last_used_at, null);
  admitted(await world.login({ secret, method: 'key' }));
  const key = await read();
  assert.ok(key !== undefined && key.last_used_at !== null);
  assert.match(key.fingerprint, /^SHA256:/);
  const path = `${ACCOUNT}/ssh-keys/${key.id}`;
  assert.equal((await world.session('admin').delete(path, undefined)).status, 404);
  assert.equal((await member.delete(path, undefined)).status, 200);
  assert.equal(await world.check(session), null);
  assert.equal((await world.login({ secret, method: 'key' })).kind, 'sftp.denied');
});

test('ends a session with the password, the right, the person and the server', async (t) => {
  const ends: readonly ReturnType<typeof sql>[] = [
    sql`update sftp_passwords set expires_at = now()`,
    sql`delete from sftp_passwords`,
    sql`delete from members where person_id = (select id from people where email = 'member@acme.example')`,
    sql`update people set disabled_at = now() where email = 'member@acme.example'`,
    sql`update game_servers set suspended = true`,
    sql`with theirs as (insert into services (id, organisation_id, name, owner) values (777, 2, 'theirs', 'portal'))
        update game_servers set organisation_id = 2, service_id = 777`,
    sql`update game_servers set node_id = (select id from nodes where name = 'node-2')`,
  ];
  const world = await startSftpWorld(t);
  const { password: secret } = await world.makePassword();
  const { session } = admitted(await world.login({ secret }));
  class Undo extends Error {}
  for (const end of ends) {
    const changed = world.db.transaction().execute(async (tx) => {
      await end.execute(tx);
      assert.deepEqual(await loadRights(tx, 'node-1', [session]), [null]);
      throw new Undo();
    });
    await assert.rejects(changed, Undo);
  }
  assert.notEqual(await world.check(session), null);
});

test('refuses a source for a time after many refusals, and no other one', async (t) => {
  const world = await startSftpWorld(t);
  const { password: secret } = await world.makePassword();
  for (let count = 0; count < 30; count += 1)
    await world.login({ secret: `guess ${count}`, source: '2001:db8::1' });
  assert.equal((await world.login({ secret, source: '2001:db8::2' })).kind, 'sftp.denied');
  admitted(await world.login({ secret, source: '2001:db8:0:1::1' }));
});

test('counts the same wrong key of many connections as one try', async (t) => {
  const world = await startSftpWorld(t);
  const { password: secret } = await world.makePassword();
  const wrong = { method: 'key', secret: 'AAAA', proved: false } as const;
  for (let count = 0; count < 40; count += 1) await world.login(wrong);
  admitted(await world.login({ secret }));
  // Other ones are guesses.
  for (let count = 0; count < 40; count += 1) await world.login({ secret: `guess ${count}` });
  assert.equal((await world.login({ secret })).kind, 'sftp.denied');
});

function field(latin1: string): Buffer {
  const bytes = Buffer.from(latin1, 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
