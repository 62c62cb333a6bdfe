import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { connectIpc } from '@portcullis/link/transport/ipc.ts';
import { createKey } from './access/index.ts';
import { addOrganisation, OPERATOR } from './access/test-organisation.ts';
import type { ControlConfig } from './config/config.ts';
import { type Control, type ControlFacts, createControl } from './composition/control.ts';
import type { Db } from './db/database.ts';
import { testDatabase } from './db/testing.ts';
import { enrolAgent } from './agent-credential.ts';
import { insertEdge } from './fleet/testing.ts';
import { stateAnswer, TestNode } from './game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from './game-servers/testing/servers.ts';
import { createLogger } from './log.ts';

const log = createLogger({ level: 'silent' });
const SERVER = `/api/v1/game-servers/${uuidOf(1)}`;

interface Site {
  readonly db: Db;
  readonly config: ControlConfig;
  readonly credential: string;
  readonly key: string;
}

/** A fleet with server 1 on node-1, and a function that starts a control plane for it. */
async function prepare(t: TestContext): Promise<Site> {
  const { db, url } = await testDatabase(t);
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-nodes-'));
  t.after(() => rm(folder, { recursive: true }));
  const { id } = await addOrganisation(db, 'acme');
  await sql`insert into services (id, organisation_id, name, owner) values (501, ${id}, 's', 'fleet')`.execute(
    db,
  );
  const credential = await addNode(db, 'node-1');
  await addServer(db, { number: 1 });
  const abilities = ['game-servers.read', 'game-servers.manage'];
  const { secret } = await db
    .transaction()
    .execute((tx) =>
      createKey(tx, { organisationId: id, name: 'k', abilities, owner: 'portal' }, OPERATOR),
    );
  const loopback = { host: '127.0.0.1', port: 0 };
  const config: ControlConfig = {
    dataDir: folder,
    databaseUrl: url,
    migrationUrl: null,
    databasePool: 10,
    listen: loopback,
    metricsListen: loopback,
    publicUrl: 'http://127.0.0.1',
    replicaUrl: 'http://127.0.0.1',
    trustedProxies: [],
    webhookNetworks: [],
    natsServers: [],
    ownNats: null,
    mail: null,
    tlsFiles: null,
    tlsAuto: null,
    linkSocket: join(folder, 'edges.sock'),
    nodeSocket: join(folder, 'nodes.sock'),
    account: null,
    awaitsFleet: false,
    logLevel: 'silent',
    program: 'portcullis',
    enforceCommand: null,
  };
  return { db, config, credential, key: secret };
}

async function start(
  t: TestContext,
  site: Site,
): Promise<{ control: Control; facts: ControlFacts }> {
  const control = createControl(site.config, log);
  t.after(() => control.stop());
  return { control, facts: await control.start() };
}

function nodeAt(t: TestContext, { config, credential }: Site): TestNode {
  const path = config.nodeSocket;
  const connect: ConstructorParameters<typeof TestNode>[0]['connect'] = (agent, shown) =>
    connectIpc({ path, agent, ...(shown !== undefined && { credential: shown }) });
  const node = new TestNode({ connect }, 'node-1', credential);
  t.after(() => node.link.close());
  return node;
}

async function call(facts: ControlFacts, key: string, path: string, body?: object) {
  const response = await fetch(`${facts.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('serves a node on its own socket, notifies it of changes and shows it in the metrics', async (t) => {
  const site = await prepare(t);
  const { facts } = await start(t, site);
  const node = await nodeAt(t, site).join();
  node.answer = ({ call: requested }) =>
    requested.kind === 'look' ? stateAnswer('running') : { kind: 'accepted' };
  await node.beat({ uuid: uuidOf(1), power: 'running' });
  const { body } = await call(facts, site.key, SERVER);
  assert.equal((body['data'] as { state: string }).state, 'running');
  const power = await call(facts, site.key, `${SERVER}/power`, { signal: 'restart' });
  assert.deepEqual(power, { status: 200, body: { ok: true, message: '' } });
  const reported = new Promise<string>((resolve) =>
    node.link.onNotice(({ kind }) => resolve(kind)),
  );
  await sql`update game_servers set suspended = true`.execute(site.db);
  assert.equal(await reported, 'node.assignments');
  const metrics = await (await fetch(facts.metricsUrl ?? '')).text();
  assert.match(metrics, /^portcullis_nodes_connected 1$/m);
  assert.match(metrics, /^portcullis_game_servers\{state="running"\} 1$/m);
  assert.match(
    metrics,
    /^portcullis_node_calls_total\{node="node-1",call="power",outcome="accepted"\} 1$/m,
  );
});

test('admits nodes and edges only on their own sockets', async (t) => {
  const site = await prepare(t);
  await start(t, site);
  const { credential, config } = site;
  for (const [path, agent] of [
    [config.linkSocket, { kind: 'node', name: 'node-1' }],
    [config.nodeSocket, { kind: 'edge', name: 'node-1' }],
  ] as const) {
    const link = connectIpc({ path, agent, credential });
    t.after(() => link.close());
    assert.match(await new Promise((resolve) => link.onRefused(resolve)), /Only (?:edges|nodes)/);
  }
});

test('admits an edge by its own credential only, also from an account that may open the socket', async (t) => {
  const site = await prepare(t);
  await insertEdge(site.db, 'fra1');
  await insertEdge(site.db, 'fra2');
  await start(t, site);
  const path = site.config.linkSocket;
  const enrol = () =>
    site.db.transaction().execute((tx) => enrolAgent(tx, { kind: 'edge', name: 'fra1' }, OPERATOR));
  const refusal = (name: string, credential?: string): Promise<string> => {
    const agent = { kind: 'edge', name } as const;
    const link = connectIpc({ path, agent, ...(credential !== undefined && { credential }) });
    t.after(() => link.close());
    return new Promise((resolve) => {
      link.onRefused(resolve);
      link.onConnect(() => resolve('admitted'));
    });
  };
  assert.match(await refusal('fra1'), /portcullis edges enrol fra1/);
  const credential = (await enrol()) ?? '';
  assert.equal(await refusal('fra1', credential), 'admitted');
  assert.match(await refusal('fra2', credential), /not the credential of an edge fra2/);
  assert.match(await refusal('fra1', site.credential), /not the credential/);
  const agent = { kind: 'edge', name: 'fra1' } as const;
  const link = connectIpc({ path, agent, credential });
  t.after(() => link.close());
  await new Promise<void>((resolve) => link.onConnect(resolve));
  const refused = new Promise((resolve) => link.onRefused(resolve));
  await enrol();
  await refused;
});

test('a new credential closes the connections of the old one at once', async (t) => {
  const site = await prepare(t);
  const { facts } = await start(t, site);
  const node = await nodeAt(t, site).join();
  assert.equal((await call(facts, site.key, `${SERVER}/power`, { signal: 'stop' })).status, 200);
  const refused = new Promise((resolve) => node.link.onRefused(resolve));
  await site.db
    .transaction()
    .execute((tx) => enrolAgent(tx, { kind: 'node', name: 'node-1' }, OPERATOR));
  await refused;
  const { status, body } = await call(facts, site.key, `${SERVER}/power`, { signal: 'stop' });
  assert.equal(status, 502);
  assert.equal(body['message'], 'The node did not answer: it is not connected.');
  assert.equal(node.calls.length, 1);
});

test('on a restart during a call, the caller gets an error and the node receives the call once and reconnects', async (t) => {
  const site = await prepare(t);
  const first = await start(t, site);
  const node = await nodeAt(t, site).join();
  const requested = Promise.withResolvers<void>();
  node.answer = () => {
    requested.resolve();
    return null;
  };
  const command = { command: 'give alex diamond' };
  const caught = call(first.facts, site.key, `${SERVER}/command`, command).then(
    ({ status }) => status,
    () => 'hung up',
  );
  await requested.promise;
  const back = new Promise<void>((resolve) => {
    let connections = 0;
    node.link.onConnect(() => {
      connections += 1;
      // It is notified of an existing connection at once.
      if (connections === 2) resolve();
    });
  });
  await first.control.stop();
  assert.ok(['hung up', 502, 503].includes(await caught));
  const second = await start(t, site);
  await back;
  await node.say({ kind: 'node.hello', protocolVersion: 1, instance: node.instance });
  node.answer = () => ({ kind: 'accepted' });
  assert.equal(
    (await call(second.facts, site.key, `${SERVER}/command`, { command: 'x' })).status,
    200,
  );
  assert.deepEqual(
    node.calls.map(({ call: received }) => received),
    [
      { kind: 'command', ...command },
      { kind: 'command', command: 'x' },
    ],
  );
});
