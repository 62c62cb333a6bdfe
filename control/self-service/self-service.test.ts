import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import type { HostEngines } from '@portcullis/core/game-servers/host-engines.ts';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { addServer } from '../game-servers/testing/servers.ts';
import { assertRefused, dataOf, type TestClient } from '../testing/client.ts';
import { startEnvironment } from '../testing/fixture.ts';

const SERVERS = `${X1_PREFIX}/game-servers`;
const OWN_ADDRESS = '198.51.100.10';
const SHARED = '192.0.2.200';
const EGG = 'eggs/flying-squid.json';
const SIZE = { memory: 1_024, cpu: 100, disk: 2_048 };
const QUOTA = { servers: 3, memory: 3_000, cpu: 300, disk: 10_000 };
const SERVER = { name: 'Survival', egg: EGG, limits: SIZE };
const READY: HostEngines = {
  docker: { version: '27', lack: null },
  programs: [],
  images: [
    {
      name: 'flying-squid',
      reference: 'portcullis/flying-squid',
      state: 'ready',
      step: null,
      percent: null,
      problem: null,
    },
  ],
};

interface Made {
  readonly service_id: number;
  readonly uuid: string;
  readonly node: string;
  readonly allocation: { readonly ip: string; readonly port: number };
}

interface Quota {
  readonly limits: object;
  readonly used: object;
}

/** Two nodes: `big` has the games and an address of acme among its own, `small` has no memory. */
async function start(t: TestContext, quota: object | null = QUOTA) {
  const environment = await startEnvironment(t);
  const { db, client } = environment;
  const operator = await client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  const addresses = [SHARED, OWN_ADDRESS];
  const offer = { addresses, ports: '30000-30010', memory: 65_536, disk: 500_000 };
  dataOf(await operator.put(`${OPERATOR_PREFIX}/nodes/big`, offer));
  const less = { ...offer, addresses: [SHARED], memory: 512 };
  dataOf(await operator.put(`${OPERATOR_PREFIX}/nodes/small`, less));
  await report(db, 'big');
  await report(db, 'small');
  if (quota !== null) await setQuota(db, quota);
  return { ...environment, operator };
}

async function report(db: Db, node: string): Promise<void> {
  const engine = JSON.stringify({ kind: 'docker', version: '27', problem: null, host: READY });
  await sql`
    update nodes set last_seen_at = now() + interval '1 hour', engine = ${engine}::jsonb
     where name = ${node}`.execute(db);
}

async function setBuilt(db: Db, uuid: string): Promise<void> {
  await sql`
    update game_servers set build_state = 'built', identifier = left(uuid::text, 8)
     where uuid = ${uuid}`.execute(db);
}

async function setQuota(db: Db, quota: object): Promise<void> {
  await sql`
    update organisations set own_servers = (q ->> 'servers')::integer, own_servers_memory = (q ->> 'memory')::integer,
           own_servers_cpu = (q ->> 'cpu')::integer, own_servers_disk = (q ->> 'disk')::integer
      from (select ${JSON.stringify(quota)}::jsonb as q) as given where slug = 'acme'`.execute(db);
}

async function make(client: TestClient, changes: object = {}): Promise<Made> {
  return dataOf<Made>(await client.post(SERVERS, { ...SERVER, ...changes }));
}

test('an organisation without a quota makes no servers', async (t) => {
  const { acme, db } = await start(t, null);
  const { limits } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.deepEqual(limits, { servers: 0, memory: 0, cpu: 0, disk: 0 });
  assertRefused(await acme.post(SERVERS, SERVER), 422, 'limit_exceeded');
  const { rows } = await sql`select from game_servers`.execute(db);
  assert.equal(rows.length, 0);
});

test('a server is made where it fits, at an address of the organisation, and counts until it is deleted', async (t) => {
  const { acme, db, operator } = await start(t);
  const made = await make(acme, { variables: { MAX_PLAYERS: '10' } });
  assert.deepEqual([made.node, made.allocation], ['big', { ip: OWN_ADDRESS, port: 30_000 }]);
  const declared = dataOf<{ variables: object; open_while_running: boolean; owner: string }>(
    await operator.get(`${OPERATOR_PREFIX}/game-servers/${made.uuid}`),
  );
  assert.deepEqual(declared.variables, { MAX_PLAYERS: '10' });
  assert.deepEqual([declared.open_while_running, declared.owner], [true, 'portal']);
  const { used } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.deepEqual(used, { servers: 1, ...SIZE });
  const build = dataOf<{ own: boolean; state: string }>(
    await acme.get(`${SERVERS}/${made.uuid}/build`),
  );
  assert.deepEqual([build.own, build.state], [true, 'waiting']);
  const { rows: audit } = await sql<{ action: string }>`
    select action from audit where target = ${`server:${made.uuid}`}`.execute(db);
  assert.deepEqual(audit, [{ action: 'server.create' }]);
  const { rows: activity } = await sql`
    select action, detail, door from server_activity where server = ${made.uuid}`.execute(db);
  const detail = { egg: EGG, node: 'big' };
  assert.deepEqual(activity, [{ action: 'create', detail, door: 'api' }]);
  dataOf(await acme.send('DELETE', `${SERVERS}/${made.uuid}`));
  const after = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.deepEqual(after.used, { servers: 0, memory: 0, cpu: 0, disk: 0 });
  assertRefused(await acme.send('DELETE', `${SERVERS}/${made.uuid}`), 404, 'not_found');
});

test('a server belongs to the service that was chosen, of those that the organisation has', async (t) => {
  const { acme, db } = await start(t);
  const listed = async () =>
    dataOf<{ services: { id: number; name: string }[] }>(await acme.get(`${SERVERS}/quota`))
      .services;
  const [first] = await listed();
  await sql`
    insert into services (id, organisation_id, name, active, owner)
    select given.id, o.id, given.name, given.active, 'portal'
      from organisations o
      join (values (9001, 'acme', 'Second', true), (9002, 'acme', 'Ended', false),
                   (9003, 'other', 'Foreign', true)) as given (id, slug, name, active) on given.slug = o.slug`.execute(
    db,
  );
  assert.deepEqual(await listed(), [first, { id: 9001, name: 'Second' }]);
  assertRefused(await acme.post(SERVERS, { ...SERVER, service: 9002 }), 422, 'invalid_request');
  assert.equal((await make(acme)).service_id, first?.id);
  assert.equal((await make(acme, { service: 9001 })).service_id, 9001);
});

test('requests at the same time never pass the quota', async (t) => {
  const { acme, db } = await start(t, { servers: 50, memory: 3_000, cpu: 5_000, disk: 500_000 });
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      acme.post(SERVERS, { ...SERVER, name: `Server ${index}` }),
    ),
  );
  const made = replies.filter(({ status }) => status === 201);
  assert.equal(made.length, 2);
  for (const reply of replies.filter(({ status }) => status !== 201)) {
    const { errors } = assertRefused(reply, 422, 'limit_exceeded') as { errors?: unknown };
    assert.deepEqual(errors, [
      { pointer: '/limits/memory', detail: 'The quota has 952 MiB of memory left of 3000.' },
    ]);
  }
  const { rows } = await sql`select from game_servers`.execute(db);
  assert.equal(rows.length, 2);
});

test('each part of the quota is held', async (t) => {
  const { acme, db } = await start(t);
  for (const [field, quota] of [
    ['', { ...QUOTA, servers: 1 }],
    ['/limits/memory', { ...QUOTA, memory: 2_047 }],
    ['/limits/cpu', { ...QUOTA, cpu: 199 }],
    ['/limits/disk', { ...QUOTA, disk: 4_095 }],
  ] as const) {
    await setQuota(db, quota);
    const { uuid } = await make(acme);
    const refused = assertRefused(await acme.post(SERVERS, SERVER), 422, 'limit_exceeded');
    const [error] = refused['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, field);
    dataOf(await acme.send('DELETE', `${SERVERS}/${uuid}`));
  }
});

test('what the operator made is neither counted nor deleted by owners', async (t) => {
  const { acme, operator, db } = await start(t);
  const body = { ...SERVER, organisation: 'acme', service: 501 };
  const { uuid } = dataOf<Made>(await operator.post(`${OPERATOR_PREFIX}/game-servers`, body));
  const { used } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.deepEqual(used, { servers: 0, memory: 0, cpu: 0, disk: 0 });
  assertRefused(await acme.send('DELETE', `${SERVERS}/${uuid}`), 422, 'conflict');
  const ofFile = await addServer(db, { number: 7, node: 'big' });
  assertRefused(await acme.send('DELETE', `${SERVERS}/${ofFile}`), 422, 'conflict');
});

test('owners cannot fill a disk by making and deleting: the oldest of their files are purged', async (t) => {
  const { acme, db } = await start(t, { ...QUOTA, servers: 1 });
  const uuids: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { uuid } = await make(acme);
    await setBuilt(db, uuid);
    dataOf(await acme.send('DELETE', `${SERVERS}/${uuid}`));
    uuids.push(uuid);
  }
  const { rows } = await sql<{ uuid: string; due: boolean }>`
    select uuid, purge_at <= now() as due from deleted_servers order by deleted_at`.execute(db);
  assert.deepEqual(
    rows.map(({ uuid, due }) => [uuid, due]),
    uuids.map((uuid, index) => [uuid, index < 2]),
  );
});

test('a restored server counts in the quota of the organisation that made it, which may delete it', async (t) => {
  const { acme, operator, db } = await start(t, { ...QUOTA, servers: 1 });
  const { uuid } = await make(acme);
  await setBuilt(db, uuid);
  dataOf(await acme.send('DELETE', `${SERVERS}/${uuid}`));
  dataOf(await operator.post(`${OPERATOR_PREFIX}/deleted-servers/${uuid}/restore`, {}));
  const { used } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.partialDeepStrictEqual(used, { servers: 1 });
  assertRefused(await acme.post(SERVERS, SERVER), 422, 'limit_exceeded');
  dataOf(await acme.send('DELETE', `${SERVERS}/${uuid}`));
});

test('a server that an organisation made stays its own when an operator deletes and restores it', async (t) => {
  const { acme, operator, db } = await start(t, { ...QUOTA, servers: 2 });
  const [first, second] = [await make(acme), await make(acme)];
  for (const { uuid } of [first, second]) await setBuilt(db, uuid);
  dataOf(await operator.send('DELETE', `${OPERATOR_PREFIX}/game-servers/${first.uuid}`));
  // What the organisation deletes itself purges nothing that the operator deleted.
  await setQuota(db, { ...QUOTA, servers: 1 });
  dataOf(await acme.send('DELETE', `${SERVERS}/${second.uuid}`));
  dataOf(await operator.post(`${OPERATOR_PREFIX}/deleted-servers/${first.uuid}/restore`, {}));
  const { used } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.partialDeepStrictEqual(used, { servers: 1 });
  dataOf(await acme.send('DELETE', `${SERVERS}/${first.uuid}`));
});

test('it says where a server fits, and why not elsewhere, without what a node has left', async (t) => {
  const { acme, db } = await start(t);
  const ask = async (limits: object = SIZE) =>
    dataOf(await acme.post(`${SERVERS}/places`, { egg: EGG, limits }));
  const little = 'It has too little memory left.';
  assert.deepEqual(await ask(), [
    { node: 'big', fits: true, reason: null },
    { node: 'small', fits: false, reason: little },
  ]);
  assert.deepEqual(await ask({ ...SIZE, disk: 600_000 }), [
    { node: 'big', fits: false, reason: 'It has too little disk left.' },
    { node: 'small', fits: false, reason: little },
  ]);
  await sql`update nodes set last_seen_at = now() - interval '1 hour' where name = 'big'`.execute(
    db,
  );
  const away = await acme.post(SERVERS, SERVER);
  const { detail } = assertRefused(away, 422, 'no_capacity') as { detail?: string };
  assert.equal(detail, `It fits on no node now. big: It is not connected now. small: ${little}`);
  const elsewhere = await acme.post(SERVERS, { ...SERVER, node: 'nowhere' });
  assertRefused(elsewhere, 422, 'invalid_request');
});

test('bad values are refused at their places, and nothing is made', async (t) => {
  const { acme, db } = await start(t);
  for (const [changes, pointer] of [
    [{ egg: 'eggs/none.json' }, '/egg'],
    [{ egg: '../../etc/passwd' }, '/egg'],
    [{ variables: { MAX_PLAYERS: '100000' } }, '/variables/MAX_PLAYERS'],
    [{ variables: { NOT_THERE: '1' } }, '/variables/NOT_THERE'],
    [{ image: 'none' }, '/image'],
    [{ service: 999 }, '/service'],
    [{ limits: { ...SIZE, memory: 0 } }, '/limits/memory'],
    [{ limits: { ...SIZE, swap: -1 } }, '/limits/swap'],
    [{ allocations: [{ ip: SHARED, port: 80 }] }, '/allocations'],
  ] as const) {
    const reply = await acme.post(SERVERS, { ...SERVER, ...changes });
    const refused = assertRefused(reply, 422, 'invalid_request');
    const [error] = refused['errors'] as { pointer: string }[];
    assert.equal(error?.pointer, pointer, reply.text);
  }
  const { rows } = await sql`select from game_servers`.execute(db);
  assert.equal(rows.length, 0);
});

test('a service of another organisation is refused like one that is not there', async (t) => {
  const { acme, db } = await start(t);
  await sql`insert into services (id, organisation_id, name, owner) values (777, 2, 'theirs', 'fleet')`.execute(
    db,
  );
  for (const service of [777, 778]) {
    const reply = await acme.post(SERVERS, { ...SERVER, service });
    const { detail } = assertRefused(reply, 422, 'invalid_request') as { detail?: string };
    assert.equal(detail, `There is no active service ${service}: readServerQuota lists them.`);
  }
});

test('only owners, and keys that may, make servers', async (t) => {
  const { session, client } = await start(t);
  const own = `${PORTAL_PREFIX}/organisations/acme/x1/game-servers`;
  for (const person of ['admin', 'member', 'read-only'] as const) {
    assertRefused(await session(person).post(own, SERVER), 403, 'ability_missing');
  }
  const others = await client({ abilities: ['game-servers.manage', 'game-servers.settings'] });
  assertRefused(await others.post(SERVERS, SERVER), 403, 'ability_missing');
  const { uuid } = dataOf<Made>(await session('owner').post(own, SERVER));
  const abilities = ['game-servers.create', 'game-servers.manage'];
  const bound = await client({ abilities, servers: [uuid] });
  assertRefused(await bound.post(SERVERS, SERVER), 403, 'ability_missing');
  dataOf(await bound.send('DELETE', `${SERVERS}/${uuid}`));
});

test('a server that is passed on is not of the organisation that made it any more', async (t) => {
  const { acme, db } = await start(t);
  const { uuid } = await make(acme);
  await sql`update game_servers set made_by = 2 where uuid = ${uuid}`.execute(db);
  const { used } = dataOf<Quota>(await acme.get(`${SERVERS}/quota`));
  assert.deepEqual(used, { servers: 0, memory: 0, cpu: 0, disk: 0 });
  assertRefused(await acme.send('DELETE', `${SERVERS}/${uuid}`), 422, 'conflict');
});

test('owners choose among what is offered, and see no more than that', async (t) => {
  const { acme, operator } = await start(t);
  const document = {
    meta: { version: 'PTDL_v2' },
    name: 'House game',
    author: 'house@example.com',
    docker_images: { main: '~portcullis/flying-squid' },
    startup: 'run',
    icon: 'data:image/png;base64,iVBORw0KGgo=',
    config: { startup: '{}', stop: 'stop', files: '{}' },
  };
  const path = `${OPERATOR_PREFIX}/library/house`;
  dataOf(await operator.put(path, { document, offered: false }));
  const names = async () =>
    dataOf<{ name: string; icon: string | null; author: string | null }[]>(
      await acme.get(`${X1_PREFIX}/eggs`),
    );
  assert.equal(
    (await names()).some(({ name }) => name === 'house'),
    false,
  );
  const hidden = await acme.post(SERVERS, { ...SERVER, egg: 'house' });
  assertRefused(hidden, 422, 'invalid_request');
  dataOf(await operator.send('PATCH', path, { json: { offered: true } }));
  const shown = (await names()).find(({ name }) => name === 'house');
  assert.deepEqual([shown?.icon, shown?.author], [document.icon, document.author]);
  const made = await make(acme, { egg: 'house' });
  assert.equal(made.node, 'big');
  const listed = dataOf<{ servers: number }>(await operator.get(path));
  assert.equal(listed.servers, 1);
});

test('a server that is suspended is deleted and installed again by its operator alone', async (t) => {
  const { acme, db, client } = await start(t);
  const { uuid } = dataOf<Made>(await acme.post(SERVERS, SERVER));
  const abilities = ['game-servers.manage', 'game-servers.files'] as const;
  const manager = await client({ abilities: [...abilities] });
  await sql`update game_servers set suspended = true where uuid = ${uuid}`.execute(db);
  assertRefused(await acme.send('DELETE', `${SERVERS}/${uuid}`), 422, 'conflict');
  for (const files of ['keep', 'bin', 'delete']) {
    const reinstall = `${SERVERS}/${uuid}/reinstall?files=${files}`;
    assertRefused(await manager.post(reinstall, {}), 422, 'conflict');
  }
  await sql`update game_servers set suspended = false where uuid = ${uuid}`.execute(db);
  dataOf(await manager.post(`${SERVERS}/${uuid}/reinstall`, {}));
  dataOf(await acme.send('DELETE', `${SERVERS}/${uuid}`));
});
