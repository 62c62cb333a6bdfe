import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import type { Db } from '../../db/database.ts';
import { listen } from '../../db/listen.ts';
import { TestNode } from '../../game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '../../game-servers/testing/servers.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { OTHER, startEnvironment } from '../../testing/fixture.ts';

const SERVER = uuidOf(1);
const PATH = `${OPERATOR_PREFIX}/game-servers/${SERVER}`;
const X1 = `/api/x1/game-servers/${SERVER}`;
const DELETED = `${OPERATOR_PREFIX}/deleted-servers`;
const ONE = `${DELETED}/${SERVER}`;

/** A server of acme that was made by hand, on a node that is connected. */
async function start(t: TestContext) {
  const environment = await startEnvironment(t);
  const { db, nodes } = environment;
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  const node = await new TestNode(nodes, 'node-1', await addNode(db, 'node-1')).join();
  t.after(() => node.link.close());
  await addServer(db, { number: 1, name: 'Survival' });
  await sql`update game_servers set owner = 'portal', variables = '{}'`.execute(db);
  await sql`update nodes set owner = 'portal'`.execute(db);
  const { rows } = await sql<{ id: number; service: number }>`
    insert into services (id, organisation_id, name, owner)
    values (777, ${OTHER}, 'theirs', 'portal') returning id`.execute(db);
  const service = rows[0]?.id ?? 0;
  const patch = (json: object, query = '?allow_losses=true') =>
    operator.send('PATCH', `${PATH}${query}`, { json });
  const move = () => patch({ organisation: 'other', service });
  return { ...environment, operator, node, patch, move, service };
}

test('a server passes to another organisation with a loss that is allowed, and leaves the people and keys of the former one', async (t) => {
  const { acme, other, operator, patch, move, service, db, client, databaseUrl } = await start(t);
  let isMoving = false;
  const narrow = await client({ servers: [SERVER] });
  await addPeople(db);
  const refused = await patch({ organisation: 'other', service }, '');
  const loss = assertRefused(refused, 422, 'live_objects')['detail'] as string;
  assert.match(loss, /would pass from acme to other with its files/);
  assertRefused(await patch({ organisation: 'other' }), 422, 'invalid_request');
  dataOf(await acme.get(`${X1}/build`));
  dataOf(await narrow.get(`${X1}/build`));
  // Consoles, streams and SFTP sessions are checked again on this notice.
  const { promise: noticed, resolve } = Promise.withResolvers<unknown>();
  const ready = Promise.withResolvers<void>();
  const listener = listen(databaseUrl, ['portcullis_access'], () => {
    ready.resolve();
    if (isMoving) resolve(null);
  });
  t.after(() => listener.stop());
  await ready.promise;
  isMoving = true;
  dataOf(await move());
  await noticed;
  for (const former of [acme, narrow]) {
    assertRefused(await former.get(`${X1}/build`), 404, 'not_found');
    assertRefused(
      await former.post(`/api/v1/game-servers/${SERVER}/power`, { signal: 'start' }),
      404,
      'not_found',
    );
  }
  dataOf(await other.get(`${X1}/build`));
  assert.deepEqual((await other.get(`${X1}/activity`)).body, { data: [], meta: { next: null } });
  const { rows } = await sql<object>`select from server_people`.execute(db);
  assert.equal(rows.length, 0);
  // A key that was narrowed to the server sees no server now, rather than all.
  assert.deepEqual(dataOf(await narrow.get('/api/v1/game-servers')), []);
  assert.equal(dataOf<{ organisation: string }>(await operator.get(PATH)).organisation, 'other');
});

test('the ports of a server that passes to another organisation are open no more at the addresses of the former one', async (t) => {
  const { node, move, db } = await start(t);
  await sql`update game_servers set open_while_running = true`.execute(db);
  await node.beat({ uuid: SERVER, power: 'running' });
  const open = async () =>
    (await sql`select from server_openings where deleted_generation is null`.execute(db)).rows
      .length;
  assert.equal(await open(), 2);
  dataOf(await move());
  assert.equal(await open(), 0);
  await node.beat({ uuid: SERVER, power: 'running' });
  assert.equal(await open(), 0);
});

interface Deleted {
  readonly uuid: string;
  readonly days_left: number | null;
  readonly moved: boolean;
}

test('a deleted server is listed with its days, and is restored with its files and all that was declared', async (t) => {
  const { operator, node, patch, db } = await start(t);
  dataOf(await patch({ limits: { memory: 512, io: 20 }, external_id: 'whmcs-1' }));
  const before = dataOf<object>(await operator.get(PATH));
  await sql`update game_servers set build_epoch = 4`.execute(db);
  dataOf(await operator.send('DELETE', PATH));
  const [deleted] = dataOf<Deleted[]>(await operator.get(DELETED));
  assert.partialDeepStrictEqual(deleted, {
    uuid: SERVER,
    node: 'node-1',
    days_left: 7,
    moved: false,
  });
  // A node that claims to have purged it before its time ends nothing.
  node.purged = [SERVER];
  await node.beat();
  const restored = await operator.post(`${ONE}/restore`, {});
  assert.equal(restored.status, 200, restored.text);
  assert.deepEqual({ ...dataOf<object>(restored), build: null }, { ...before, build: null });
  const page = await node.say({ kind: 'node.sync', instance: 'one', cursor: null, revision: null });
  assert.ok(page.kind === 'node.page');
  assert.partialDeepStrictEqual(page.servers, [{ uuid: SERVER, buildEpoch: 4, isRestored: true }]);
  assert.deepEqual(page.purge, []);
  assert.deepEqual(dataOf(await operator.get(DELETED)), []);
  assertRefused(await operator.post(`${ONE}/restore`, {}), 404, 'not_found');
});

/** Gives two people rights, and makes an entry of the activity. */
async function addPeople(db: Db): Promise<void> {
  await sql`
    insert into server_people (server, person_id, rights)
    select ${SERVER}, id, '{websocket.connect}' from people order by id limit 2`.execute(db);
  await sql`
    insert into server_activity (server, actor_kind, actor, door, action)
    values (${SERVER}, 'user', 'friend', 'portal', 'power')`.execute(db);
}

test('a restored server has its people, but for those who are gone, and its activity', async (t) => {
  const { acme, operator, db } = await start(t);
  await addPeople(db);
  const read = async () => {
    const { people } = dataOf<{ people: { id: number }[] }>(await acme.get(`${X1}/people`));
    const activity = dataOf<{ action: string }[]>(await acme.get(`${X1}/activity`));
    return { people, actions: activity.map(({ action }) => action) };
  };
  const before = await read();
  assert.equal(before.people.length, 2);
  dataOf(await operator.send('DELETE', PATH));
  assertRefused(await acme.get(`${X1}/activity`), 404, 'not_found');
  const [gone, still] = before.people.toSorted((a, b) => a.id - b.id);
  await sql`delete from people where id = ${gone?.id}`.execute(db);
  dataOf(await operator.post(`${ONE}/restore`, {}));
  assert.deepEqual(await read(), { people: [still], actions: ['power'] });
});

test('the people and the activity of a deleted server end with its files, and are of no other organisation', async (t) => {
  const { acme, other, operator, node, service, db } = await start(t);
  const kept = async () =>
    (
      await sql`
        select from server_activity where deleted_uuid = ${SERVER}
         union all select from deleted_server_people`.execute(db)
    ).rows.length;
  const declared = dataOf<Record<string, unknown>>(await operator.get(PATH));
  await addPeople(db);
  dataOf(await operator.send('DELETE', PATH));
  assert.equal(await kept(), 3);
  const { name, egg, egg_digest, limits, allocations } = declared;
  const order = { organisation: 'other', service, name, node: 'node-1', egg, egg_digest, limits };
  dataOf(await operator.put(PATH, { ...order, allocations }));
  const { data } = (await other.get(`${X1}/activity`)).body as { data: { action: string }[] };
  assert.deepEqual(data, []);
  const { rows } = await sql`select from server_people`.execute(db);
  assert.deepEqual([rows.length, await kept()], [0, 0]);
  assertRefused(await acme.get(`${X1}/activity`), 404, 'not_found');
  await sql`update game_servers set build_state = 'built', identifier = 'x'`.execute(db);
  await addPeople(db);
  dataOf(await operator.send('DELETE', PATH));
  assert.equal(await kept(), 3);
  dataOf(await operator.post(`${ONE}/purge`, {}));
  node.purged = [SERVER];
  await node.beat();
  assert.equal(await kept(), 0);
});

test('what deleted servers left counts as disk of their node until it is purged', async (t) => {
  const { operator, db } = await start(t);
  await sql`update nodes set disk_mib = 4000, addresses = '{198.51.100.10}'`.execute(db);
  dataOf(await operator.send('DELETE', PATH));
  const limits = { memory: 64, cpu: 10, disk: 2_048 };
  const egg = 'eggs/flying-squid.json';
  const order = { organisation: 'acme', service: 501, name: 'Next', node: 'node-1', egg, limits };
  const full = await operator.post(`${OPERATOR_PREFIX}/game-servers`, order);
  assertRefused(full, 422, 'no_capacity');
  dataOf(await operator.post(`${ONE}/restore`, {}));
});

test('a node purges a deleted server when its time is over, and it cannot be restored any more', async (t) => {
  const { operator, node } = await start(t);
  dataOf(await operator.send('DELETE', PATH));
  const sync = async () => {
    const page = await node.say({
      kind: 'node.sync',
      instance: 'one',
      cursor: null,
      revision: null,
    });
    return page.kind === 'node.page' ? page.purge : null;
  };
  assert.deepEqual(await sync(), []);
  const [due] = dataOf<Deleted[]>(await operator.post(`${ONE}/purge`, {}));
  assert.equal(due?.days_left, 0);
  assertRefused(await operator.post(`${ONE}/restore`, {}), 422, 'conflict');
  assert.deepEqual(await sync(), [SERVER]);
  node.purged = [SERVER, uuidOf(9)];
  await node.beat();
  assert.deepEqual([dataOf(await operator.get(DELETED)), await sync()], [[], []]);
  assertRefused(await operator.post(`${ONE}/purge`, {}), 404, 'not_found');
});

test('what a server left on its former node is kept for its time, and is no second server', async (t) => {
  const { operator, patch, db, node } = await start(t);
  dataOf(await operator.put(`${OPERATOR_PREFIX}/nodes/node-2`, {}));
  await sql`update nodes set keep_days = -1 where name = 'node-1'`.execute(db);
  dataOf(await patch({ node: 'node-2' }));
  const [left] = dataOf<Deleted[]>(await operator.get(DELETED));
  assert.partialDeepStrictEqual(left, { node: 'node-1', days_left: null, moved: true });
  assertRefused(await operator.post(`${ONE}/restore`, {}), 422, 'conflict');
  dataOf(await patch({ node: 'node-1' }));
  assert.deepEqual(dataOf(await operator.get(DELETED)), []);
  await node.beat();
});
