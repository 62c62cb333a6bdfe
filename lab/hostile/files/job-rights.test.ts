import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CHANNELS, wake } from '@portcullis/control/notifications.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { dataOf, type TestClient } from '@portcullis/control/testing/client.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { sql } from 'kysely';
import { eventually } from '../../system/stack-fixture.ts';
import { FILES, type Job, serve } from './world.ts';

const MEMBER = sql`(select id from people where email = 'member@acme.example')`;
const PORTAL = `/api/portal/organisations/acme/x1${FILES.slice('/api/x1'.length)}`;
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Control with its database and notifications, a real node, and a server that sends the half of a file. */
async function start(t: TestContext) {
  const env = await startEnvironment(t);
  const home = mkdtempSync(join(tmpdir(), 'portcullis-jobs-'));
  const stateDir = join(home, 'node');
  mkdirSync(stateDir);
  const credential = await addNode(env.db, 'node-1');
  await addServer(env.db, { number: 1, built: false });
  await sql`update eggs set egg = ${JSON.stringify(EGG)}::jsonb`.execute(env.db);
  const nothing = { wake() {}, forget() {} };
  const listener = listen(env.databaseUrl, CHANNELS, (channel, payload) => {
    const links = {
      notify(name: string): void {
        if (name === 'portcullis_access') env.nodes.control.notify({ kind: 'node.access' });
        if (name === 'portcullis_nodes')
          env.nodes.control.notify({ kind: 'node.assignments', nodes: ['node-1'] });
      },
    };
    const woken = { access: env.access, events: env.events, deliveries: nothing, links };
    wake(
      { ...woken, mitigations: nothing, timers: nothing, detection: nothing, onRestored() {} },
      channel,
      payload,
    );
  });
  const node = createNode({
    name: 'node-1',
    link: env.nodes.connect({ kind: 'node', name: 'node-1' }, credential),
    engine: new FakeEngine(),
    stateDir,
    accounts: null,
    applyConfigFiles: async () => [],
    openNetworks: ['127.0.0.1/32'],
    log,
  });
  node.start();
  t.after(async () => {
    await node.stop();
    await listener.stop();
    rmSync(home, { recursive: true, force: true });
  });
  await eventually('the server is built', async () => {
    const { rows } = await sql`select from game_servers where build_state = 'built'`.execute(
      env.db,
    );
    return rows.length > 0;
  });
  const open = new Set<object>();
  const port = await serve(t, (_, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    response.writeHead(200, { 'content-length': 1_000_000 });
    response.write(Buffer.alloc(1_000));
  });
  const folder = join(stateDir, 'servers', uuidOf(1));
  return { ...env, url: `http://127.0.0.1:${port}/map.jar`, open, folder };
}

type World = Awaited<ReturnType<typeof start>>;

/** Begins a pull that never ends by itself. */
async function begin({ url, open }: World, client: TestClient, base: string): Promise<void> {
  const before = open.size;
  void client.post(`${base}/pull`, { url, path: `map-${before}.jar` });
  await eventually('the pull has begun', async () => open.size === before + 1);
}

/** The changes that end the rights of the member. */
const ENDS = {
  'leaves the organisation': sql`delete from members where person_id = ${MEMBER}`,
  'may only look': sql`update members set role = 'read-only' where person_id = ${MEMBER}`,
  'is disabled': sql`update people set disabled_at = now() where id = ${MEMBER}`,
} as const;

for (const [name, change] of Object.entries(ENDS)) {
  test(`a job of a person ends within a second after the person ${name}`, async (t) => {
    const world = await start(t);
    const owner = world.session('owner');
    await begin(world, world.session('member'), PORTAL);
    await begin(world, owner, PORTAL);
    // Past the check of jobs that have just begun.
    await delay(500);
    assert.equal(world.open.size, 2);
    await change.execute(world.db);
    const changedMs = performance.now();
    await eventually('the job has ended', async () => world.open.size === 1);
    const tookMs = performance.now() - changedMs;
    // Without the notification it would be half a minute; a busy machine takes more than a second.
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    t.diagnostic(`ended after ${Math.round(tookMs)} ms`);
    const read = async () => dataOf<Job[]>(await owner.get(`${PORTAL}/jobs`));
    // Its connection ends first.
    await eventually('the job is cancelled', async () =>
      (await read()).some(({ state }) => state === 'cancelled'),
    );
    const jobs = await read();
    assert.deepEqual(jobs.map(({ state }) => state).toSorted(), ['cancelled', 'running']);
    assert.match(jobs.flatMap(({ notes }) => notes).join(), /The right file\.create .* has ended/);
    const tmp = join(world.folder, '.portcullis/tmp');
    await eventually('its half file is gone', async () => readdirSync(tmp).length === 1);
    assert.equal(existsSync(join(world.folder, 'map-0.jar')), false);
  });
}

test('a job of a key ends when the key is revoked, bound to other servers, or the server is suspended', async (t) => {
  const world = await start(t);
  const { db } = world;
  const ends = [
    sql`update api_keys set revoked_at = now()`,
    sql`update api_keys set revoked_at = null, servers = '{}'`,
    sql`update game_servers set suspended = true`,
  ];
  for (const [index, change] of ends.entries()) {
    await sql`update api_keys set revoked_at = null, servers = null`.execute(db);
    const key = await world.client({ abilities: ['game-servers.files'] });
    await begin(world, key, FILES);
    await change.execute(db);
    await eventually(`job ${index} has ended`, async () => world.open.size === 0);
  }
});
