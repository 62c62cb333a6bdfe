import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SftpLine } from '@portcullis/link/messages/sftp.ts';
import { sql } from 'kysely';
import { addPerson } from '../accounts/testing.ts';
import { uuidOf } from '../game-servers/testing/servers.ts';
import { admitted, startSftpWorld, type SftpWorld } from './testing.ts';

interface Entry {
  readonly actor: string;
  readonly source: string;
  readonly action: string;
  readonly detail: object;
  readonly times: number;
}

async function entries({ db }: SftpWorld): Promise<readonly Entry[]> {
  const { rows } = await sql<Entry>`
    select actor, host(source) as source, action, detail, times from server_activity
     where action like 'files.%' order by id`.execute(db);
  return rows;
}

async function lineOf(world: SftpWorld): Promise<SftpLine> {
  const { password: secret } = await world.makePassword();
  const { session } = admitted(await world.login({ secret }));
  const file = { action: 'files.write', refused: null, path: 'a', to: null, folder: null } as const;
  return { session, source: '192.0.2.1', times: 1, ...file };
}

test('records what a node reports once, also when a batch is sent again', async (t) => {
  const world = await startSftpWorld(t);
  const line = await lineOf(world);
  const lines: readonly SftpLine[] = [
    line,
    { ...line, path: null, folder: 'mods', times: 2_000 },
    { ...line, action: 'files.move', path: 'a', to: 'b' },
    { ...line, action: 'files.delete', path: 'locked', refused: 'denied' },
  ];
  const report = { kind: 'sftp.activity', batch: 'one.1', lines } as const;
  for (let count = 0; count < 2; count += 1)
    assert.equal((await world.node.say(report)).kind, 'done');
  const by = { actor: 'member@acme.example', source: '192.0.2.1' };
  assert.deepEqual(await entries(world), [
    { ...by, action: 'files.write', detail: { path: 'a' }, times: 1 },
    { ...by, action: 'files.write', detail: { folder: 'mods/' }, times: 2_000 },
    { ...by, action: 'files.move', detail: { path: 'a', to: 'b' }, times: 1 },
    { ...by, action: 'files.delete', detail: { path: 'locked', refused: 'denied' }, times: 1 },
  ]);
  await world.node.say({ ...report, batch: 'one.2', lines: [{ ...line, action: 'files.mode' }] });
  assert.equal((await entries(world)).length, 5);
});

test('takes nothing of servers of other nodes, and of people who never had to do with the server', async (t) => {
  const world = await startSftpWorld(t);
  const line = await lineOf(world);
  const person = await addPerson(world, 'elsewhere@example.net');
  const lines = [
    { ...line, session: { ...line.session, server: uuidOf(2) } },
    { ...line, session: { ...line.session, server: uuidOf(9) } },
    { ...line, session: { ...line.session, person } },
    { ...line, session: { ...line.session, person: 999_999 } },
  ];
  await world.node.say({ kind: 'sftp.activity', batch: 'one.1', lines });
  assert.deepEqual(await entries(world), []);
  // The last lines of one whose right has just ended are its own.
  await sql`delete from members where person_id = ${line.session.person}`.execute(world.db);
  await world.node.say({ kind: 'sftp.activity', batch: 'one.2', lines: [line] });
  assert.equal((await entries(world)).length, 1);
});
