import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { sql } from 'kysely';
import { startEnvironment } from '../../testing/fixture.ts';
import { TestNode } from '../testing/node.ts';
import { addNode, addServer, uuidOf } from '../testing/servers.ts';

test('a node learns the rights that callers have now to files of its own servers, and nothing of others', async (t) => {
  const env = await startEnvironment(t);
  const { db } = env;
  const [node, other] = await Promise.all(
    ['node-1', 'node-2'].map(async (name) =>
      new TestNode(env.nodes, name, await addNode(db, name)).join(),
    ),
  );
  assert.ok(node && other);
  t.after(() => Promise.all([node.link.close(), other.link.close()]));
  await addServer(db, { number: 1 });
  await env.client({ abilities: ['game-servers.files'] });
  const idOf = async (query: ReturnType<typeof sql<{ id: number }>>): Promise<number> =>
    (await query.execute(db)).rows[0]?.id ?? assert.fail('no row');
  const person = async (email: string): Promise<string> =>
    `person:${await idOf(sql<{ id: number }>`select id from people where email = ${email}`)}`;
  const key = `key:${await idOf(sql<{ id: number }>`select max(id) as id from api_keys`)}`;
  const member = await person('member@acme.example');
  const check = async (caller: string, from = node): Promise<number> => {
    const callers = [{ server: uuidOf(1), caller }];
    const reply = await from.say({ kind: 'files.check', callers });
    assert.equal(reply.kind, 'files.rights');
    return (reply.kind === 'files.rights' ? reply.rights[0] : undefined)?.length ?? -1;
  };
  const all = FILE_RIGHTS.length;
  assert.deepEqual([await check(member), await check(key)], [all, all]);
  assert.deepEqual([await check('person:999999'), await check('key:999999')], [0, 0]);
  assert.deepEqual([await check(member, other), await check(key, other)], [0, 0]);

  await sql`update game_servers set suspended = true`.execute(db);
  assert.deepEqual([await check(member), await check(key)], [0, 0]);
  await sql`update game_servers set suspended = false`.execute(db);

  for (const change of [
    sql`update api_keys set servers = '{}'`,
    sql`update api_keys set servers = null, managed_servers = '{}'`,
    sql`update api_keys set managed_servers = null, expires_at = now()`,
    sql`update api_keys set expires_at = null, suspended_at = now()`,
    sql`update api_keys set suspended_at = null, organisation_id = 2`,
  ]) {
    await change.execute(db);
    assert.equal(await check(key), 0, JSON.stringify(change.compile(db)));
  }

  await sql`delete from members where person_id = ${Number(member.split(':')[1])}`.execute(db);
  assert.equal(await check(member), 0);
  await sql`
    insert into server_people (server, person_id, rights)
    values (${uuidOf(1)}, ${Number(member.split(':')[1])}, '{websocket.connect,file.read}')`.execute(
    db,
  );
  assert.equal(await check(member), 1);

  const operator = await idOf(
    sql<{ id: number }>`select id from people where is_operator order by id limit 1`,
  );
  assert.equal(await check(`person:${operator}`), 0);
  await sql`update sessions set acting_id = 1 where person_id = ${operator}`.execute(db);
  assert.equal(await check(`person:${operator}`), all);
  await sql`update sessions set expires_at = now() where person_id = ${operator}`.execute(db);
  assert.equal(await check(`person:${operator}`), 0);
});
