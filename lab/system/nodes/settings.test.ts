import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { listen } from '@portcullis/control/db/listen.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { dataOf, type TestClient } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { Journal } from '@portcullis/node/journal/journal.ts';
import { DEFAULT_ACCOUNTS } from '@portcullis/node/server-folder/account-range.ts';
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { sql } from 'kysely';
import { type DockerFixture, startDockerFixture } from '../../docker/docker-fixture.ts';
import { BUSYBOX } from '../../docker/docker-image.ts';
import { idOf } from '../../docker/server-shell.ts';
import { skipUnless } from '../../requirements.ts';
import { eventually } from '../stack-fixture.ts';

const UUID = uuidOf(1);
const SERVER = `/api/x1/game-servers/${UUID}`;
const SETTINGS = `${SERVER}/settings`;
const SECOND = 'lab/busybox:second';
const PATIENCE_MS = 60_000;
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A game that says its map, and ends at a line of its console. */
const GAME: Egg = {
  ...EGG,
  images: [
    { label: 'first', reference: BUSYBOX, local: true },
    { label: 'second', reference: SECOND, local: true },
  ],
  launch: 'startup',
  startup: `sh -c 'echo "map $MAP"; echo ready; read line'`,
  install: {
    image: { label: 'installer', reference: BUSYBOX, local: true },
    entrypoint: 'sh',
    script: 'ls -A /mnt/server > /mnt/server/seen',
  },
  variables: [
    {
      name: 'Map',
      description: 'Where they play.',
      env: 'MAP',
      defaultValue: 'lake',
      rules: ['required', 'alpha_dash', 'max:20'],
      viewable: true,
      editable: true,
    },
  ],
};

describe('settings of a server in Docker, by its owner', {
  skip: skipUnless(['docker', 'nft', 'root', 'postgres']),
}, () => {
  let fixture: DockerFixture;
  before(async () => {
    fixture = await startDockerFixture('settings');
    const [repo, tag] = SECOND.split(':');
    await fixture.dockerd.call('POST', `/images/${BUSYBOX}/tag?repo=${repo}&tag=${tag}`);
  });
  after(() => fixture.stop());

  it('are taken at the next start: variables and image; and until then it is said what waits', async (t) => {
    const { acme } = await start(t, fixture);
    await run(acme);
    const first = await container(fixture);
    assert.ok(first.env.includes('MAP=lake'), first.env.join());
    const change = { image: 'second', variables: { MAP: 'hill' } };
    const changed = await acme.send('PATCH', SETTINGS, { json: change });
    assert.equal(changed.status, 200, changed.text);
    await waits(acme, ['/image', '/variables/MAP']);
    assert.equal((await container(fixture)).id, first.id, 'it runs on');
    assert.equal(
      (await acme.post(`/api/v1/game-servers/${UUID}/power`, { signal: 'restart' })).status,
      200,
    );
    await eventually(
      'it runs with them',
      async () => {
        const now = await container(fixture).catch(() => first);
        return now.env.includes('MAP=hill') && now.image === SECOND;
      },
      PATIENCE_MS,
    );
    await becomes(acme, 'running');
    await waits(acme, []);
    const { lines } = dataOf<{ lines: string[] }>(await acme.get(`${SERVER}/console`));
    assert.ok(lines.includes('map hill'), lines.join('\n'));
  });

  it('say whether it is started again after it ended by itself', async (t) => {
    const { acme, journal } = await start(t, fixture);
    await run(acme);
    const off = await acme.send('PATCH', SETTINGS, { json: { crashes: { restart: false } } });
    assert.equal(off.status, 200, off.text);
    const restarts = (): boolean | undefined =>
      journal.loadAssignments()?.servers[0]?.crashes.restart;
    await eventually('the node knows', async () => restarts() === false, PATIENCE_MS);
    await acme.post(`/api/v1/game-servers/${UUID}/command`, { command: 'end' });
    await becomes(acme, 'offline');
  });

  it('keep its files, move them to the bin or delete them when it is installed again', async (t) => {
    const { acme, folder } = await start(t, fixture);
    writeFileSync(join(folder, 'world'), 'mine');
    const reinstall = async (files: string) => {
      const { epoch } = dataOf<{ epoch: number }>(
        await acme.post(`${SERVER}/reinstall?files=${files}`, {}),
      );
      await built(acme, epoch);
      return readdirSync(folder).toSorted();
    };
    assert.deepEqual(await reinstall('keep'), ['seen', 'world']);
    assert.deepEqual(await reinstall('bin'), ['.portcullis', 'seen']);
    const bin = await acme.get(`${SERVER}/files/bin`);
    const [item] = dataOf<{ id: string; path: string }[]>(bin);
    assert.match(item?.path ?? '', /^before-install-\d+$/);
    const restored = await acme.post(`${SERVER}/files/bin/restore`, { ids: [item?.id] });
    assert.equal(restored.status, 200, restored.text);
    const back = await acme.get(
      `${SERVER}/files/content?path=${encodeURIComponent(`${item?.path}/world`)}`,
    );
    assert.match(back.text, /"content":"mine"/);
    assert.deepEqual(await reinstall('delete'), ['seen']);
  });
});

interface World extends TestEnvironment {
  /** The folder of the server. */
  readonly folder: string;
  /** The journal of the node. */
  readonly journal: Journal;
}

/** Control with its database, and a node with Docker that has built a server. */
async function start(t: TestContext, { open, stateDir }: DockerFixture): Promise<World> {
  const env = await startEnvironment(t);
  const nodeDir = join(stateDir, 'node');
  mkdirSync(nodeDir, { recursive: true });
  const credential = await addNode(env.db, 'node-1');
  await addServer(env.db, { number: 1, built: false });
  await sql`update eggs set egg = ${JSON.stringify(GAME)}::jsonb`.execute(env.db);
  await sql`
    update game_servers set owner = 'portal', ip = '127.0.0.1', memory_mib = 64, disk_mib = 64`.execute(
    env.db,
  );
  const listener = listen(env.databaseUrl, ['portcullis_nodes'], () =>
    env.nodes.control.notify({ kind: 'node.assignments', nodes: ['node-1'] }),
  );
  const engine = open();
  const node = createNode({
    name: 'node-1',
    link: env.nodes.connect({ kind: 'node', name: 'node-1' }, credential),
    engine,
    stateDir: nodeDir,
    accounts: DEFAULT_ACCOUNTS,
    applyConfigFiles: async () => [],
    log,
  });
  node.start();
  t.after(async () => {
    await engine.remove(UUID).catch(() => undefined);
    await node.stop();
    await listener.stop();
    rmSync(nodeDir, { recursive: true, force: true });
  });
  await built(env.acme, 1);
  return { ...env, folder: join(nodeDir, 'servers', UUID), journal: new Journal(nodeDir, log) };
}

async function built(acme: TestClient, epoch: number): Promise<void> {
  const isBuilt = async (): Promise<boolean> => {
    const build = dataOf<{ epoch: number; state: string; reason: string | null }>(
      await acme.get(`${SERVER}/build`),
    );
    assert.notEqual(build.state, 'failed', build.reason ?? '');
    return build.epoch === epoch && build.state === 'built';
  };
  await eventually('it is built', isBuilt, PATIENCE_MS);
}

async function run(acme: TestClient): Promise<void> {
  const started = await acme.post(`/api/v1/game-servers/${UUID}/power`, { signal: 'start' });
  assert.equal(started.status, 200, started.text);
  await becomes(acme, 'running');
}

function becomes(acme: TestClient, wanted: string): Promise<void> {
  const isSo = async (): Promise<boolean> =>
    dataOf<{ state: string | null }>(await acme.get(`/api/v1/game-servers/${UUID}`)).state ===
    wanted;
  return eventually(`it is ${wanted}`, isSo, PATIENCE_MS);
}

async function waiting(acme: TestClient): Promise<unknown> {
  const { meta } = Object((await acme.get(SETTINGS)).body) as {
    readonly meta: { readonly at_next_start: unknown };
  };
  return meta.at_next_start;
}

/** Nothing is known of what waits while a busy engine does not answer in time. */
function waits(acme: TestClient, wanted: readonly string[]): Promise<void> {
  const isSo = async (): Promise<boolean> => isDeepStrictEqual(await waiting(acme), wanted);
  return eventually(`${wanted.join() || 'nothing'} waits`, isSo, PATIENCE_MS);
}

async function container(fixture: DockerFixture) {
  const path = `/containers/${await idOf(fixture, UUID)}/json`;
  const { Id: id, Config: config } = JSON.parse(await fixture.dockerd.call('GET', path));
  return { id, env: config.Env as string[], image: config.Image as string };
}
