import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connectIpc } from '@portcullis/link/transport/ipc.ts';
import type { EdgeChanged } from '@portcullis/link/messages/edge.ts';
import type { Notice } from '@portcullis/link/messages/messages.ts';
import { pino } from 'pino';
import { enrolAgent } from '../agent-credential.ts';
import { type ControlConfig, decideConfig } from '../config/config.ts';
import { type ControlFacts, createControl } from './control.ts';
import type { Db } from '../db/database.ts';
import { endOtherConnections, testDatabase } from '../db/testing.ts';
import { takeGeneration } from '../fleet/generations.ts';
import { insertEdge } from '../fleet/testing.ts';
import { addWebhook, happen, seedOrganisations, settled } from '../webhooks/testing/hooks.ts';
import { isAuthentic, startReceiver } from '../webhooks/testing/receiver.ts';

const OPERATOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;
const log = pino({ level: 'silent' });
const HELLO = {
  kind: 'edge.hello',
  protocolVersion: 1,
  instance: 'one',
  mode: 'observe',
  modeReason: null,
} as const;
/** The edge fra1 with a new credential. */
async function enrolled(db: Db) {
  const agent = { kind: 'edge', name: 'fra1' } as const;
  const credential = await db.transaction().execute((tx) => enrolAgent(tx, agent, OPERATOR));
  assert.ok(credential !== null);
  return { agent, credential };
}

const BEAT = {
  kind: 'edge.heartbeat',
  instance: 'one',
  mode: 'observe',
  modeReason: null,
  generation: 0,
  report: {
    policies: 0,
    elements: 0,
    filters: 0,
    lastError: null,
    lastApplyMs: null,
    repairs: 3,
    forgottenConnections: 4,
    hostDevices: null,
    fastPath: null,
    counters: 'nftables',
    management: [],
    kernel: 'undisturbed',
    problems: [],
    devices: [
      {
        name: 'bond0',
        kind: 'bond',
        present: true,
        receives: true,
        xdp: 'tc',
        reason: 'not by its ports',
        master: null,
      },
    ],
  },
} as const;
const DROPS = {
  kind: 'edge.drops',
  instance: 'one',
  atMs: 1_000_000,
  drops: {
    sinceMs: 990_000,
    untilMs: 1_000_000,
    entries: [
      {
        target: '192.0.2.1',
        stage: 'policy',
        reason: 'denied',
        by: 'xdp',
        packets: 12,
        bytes: 720,
      },
    ],
    samples: [],
  },
} as const;

async function configFor(
  t: TestContext,
  databaseUrl: string,
  listen = '127.0.0.1:0',
): Promise<ControlConfig> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pcl-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const config = decideConfig(
    {
      DATABASE_URL: databaseUrl,
      PORTCULLIS_DATA: dataDir,
      PORTCULLIS_LISTEN: listen,
      PORTCULLIS_METRICS_LISTEN: '127.0.0.1:0',
      PORTCULLIS_WEBHOOK_NETWORKS: '127.0.0.0/8',
    },
    { isRoot: false },
  );
  assert.ok(config.ok, config.ok ? '' : config.reason);
  return config.value;
}

interface Readyz {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>;
  readonly enforcement: {
    readonly state: string;
    readonly detail: string;
    readonly edges: readonly { readonly name: string; readonly devices: readonly unknown[] }[];
  };
}
async function readyz(facts: ControlFacts): Promise<{ status: number; body: Readyz }> {
  // With its details, which are for the operator.
  const response = await fetch((facts.metricsUrl ?? '').replace('/metrics', '/readyz'));
  return { status: response.status, body: (await response.json()) as Readyz };
}

/** Reads are cached, so a new report appears within half a second. */
async function reportedDevices(facts: ControlFacts): Promise<readonly unknown[]> {
  for (let tries = 0; tries < 600; tries += 1) {
    const [edge] = (await readyz(facts)).body.enforcement.edges;
    if (edge !== undefined && edge.devices.length > 0) return edge.devices;
    await delay(50);
  }
  return [];
}

test('serves the API, metrics and links, reports enforcement, and leaves nothing behind when stopped', async (t) => {
  const { db, url } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const config = await configFor(t, url);
  const control = createControl(config, log);
  const facts = await control.start();
  assert.equal((await fetch(`${facts.url}/healthz`)).status, 200);
  assert.equal((await fetch(`${facts.url}/api/v1/firewall/ips/192.0.2.1`)).status, 401);
  const ready = await readyz(facts);
  assert.equal(ready.status, 200);
  assert.deepEqual(
    [ready.body.status, ready.body.enforcement.state, ready.body.checks['database']?.ok],
    ['ready', 'none', true],
  );
  assert.match(ready.body.enforcement.detail, /Nothing is enforced/);

  const agent = connectIpc({ path: facts.linkSocket, ...(await enrolled(db)) });
  await new Promise<void>((resolve) => agent.onConnect(resolve));
  assert.equal((await agent.request(HELLO, 5_000)).kind, 'edge.welcome');
  assert.deepEqual(await agent.request(BEAT, 5_000), { kind: 'done' });
  assert.deepEqual(await reportedDevices(facts), [
    {
      name: 'bond0',
      kind: 'bond',
      present: true,
      receives: true,
      xdp: 'tc',
      reason: 'not by its ports',
    },
  ]);
  for (const sequence of [1, 1])
    assert.deepEqual(await agent.request({ ...DROPS, sequence }, 5_000), { kind: 'done' });
  const metrics = await (await fetch(facts.metricsUrl ?? '')).text();
  assertDocumented(metrics);
  assert.match(metrics, /^portcullis_disk_free_bytes [1-9]/m);
  assert.match(metrics, /^portcullis_attacks_ongoing 0$/m);
  assert.match(metrics, /^portcullis_edges_in_service 0$/m);
  assert.match(metrics, /^# TYPE portcullis_edge_repairs_total counter$/m);
  assert.match(metrics, /^portcullis_build_info\{version="[^"]+",node="v\d+[^"]*"\} 1$/m);
  assert.match(metrics, /^portcullis_generation_accepted 0$/m);
  assert.match(metrics, /^portcullis_edge_counters_info\{edge="fra1",by="nftables"\} 1$/m);
  assert.match(
    metrics,
    /^portcullis_edge_device_info\{edge="fra1",device="bond0",kind="bond",xdp="tc",present="true"\} 1$/m,
  );
  assert.match(
    metrics,
    /^portcullis_dropped_packets_total\{edge="fra1",stage="policy",reason="denied",by="xdp"\} 12$/m,
  );
  assert.match(metrics, /^portcullis_edge_repairs_total\{edge="fra1"\} 3$/m);
  assert.match(metrics, /^portcullis_edge_forgotten_connections_total\{edge="fra1"\} 4$/m);
  assert.match(metrics, /^portcullis_edge_kernel_disturbed\{edge="fra1"\} 0$/m);
  assert.match(metrics, /^portcullis_edge_refused_targets\{edge="fra1"\} 0$/m);
  await agent.close();
  await control.stop();
  await assert.rejects(fetch(`${facts.url}/healthz`));
});

test('announces a generation to agents at the commit', async (t) => {
  const { db, url } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const takeOne = (): Promise<number> =>
    db.transaction().execute((tx) => takeGeneration(tx, { cause: 'test', targets: ['192.0.2.1'] }));
  await takeOne();
  const control = createControl(await configFor(t, url), log);
  const facts = await control.start();
  const agent = connectIpc({ path: facts.linkSocket, ...(await enrolled(db)) });
  await new Promise<void>((resolve) => agent.onConnect(resolve));
  await agent.request(HELLO, 5_000);
  const received = new Promise<Notice>((resolve) =>
    agent.onNotice((notice) => {
      if (notice.kind === 'edge.changed' && notice.changes !== null) resolve(notice);
    }),
  );
  // What was committed before control listens is announced without its changes.
  let notice: Notice | null = null;
  while (notice === null) {
    await takeOne();
    notice = await Promise.race([received, delay(1_000, null)]);
  }
  const { edge, changes } = notice as EdgeChanged;
  assert.equal(edge, 'fra1');
  assert.ok(changes !== null && changes.generation === changes.after + 1);
  await agent.close();
  await control.stop();
});

test('delivers an event by a webhook at the commit', async (t) => {
  const { db, url } = await testDatabase(t);
  await seedOrganisations(db);
  const receiver = await startReceiver(t);
  const { id, secret } = await addWebhook(db, receiver.url);
  const control = createControl(await configFor(t, url), log);
  await control.start();
  await happen(db);
  const [message] = await receiver.got(1);
  assert.ok(message !== undefined && isAuthentic(message, secret));
  await settled(db, id);
  await control.stop();
});

test('survives the loss of every database connection', async (t) => {
  const { db, url } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const control = createControl(await configFor(t, url), log);
  const facts = await control.start();
  const agent = connectIpc({ path: facts.linkSocket, ...(await enrolled(db)) });
  await new Promise<void>((resolve) => agent.onConnect(resolve));
  for (let round = 0; round < 5; round += 1) {
    await endOtherConnections(db);
    assert.equal((await fetch(`${facts.url}/healthz`)).status, 200);
  }
  const isBack = async (): Promise<boolean> => {
    if ((await readyz(facts)).status !== 200) return false;
    const answer = await agent.request(HELLO, 5_000).catch(() => null);
    return answer?.kind === 'edge.welcome';
  };
  let back = false;
  for (let tries = 0; tries < 600 && !back; tries += 1) {
    back = await isBack();
    if (!back) await delay(50);
  }
  assert.equal(back, true);
  await agent.close();
  await control.stop();
});

test('leaves nothing behind after a failed start, and allows a stop after it', async (t) => {
  const { url } = await testDatabase(t);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => taken.close(resolve)));
  const address = taken.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const control = createControl(await configFor(t, url, `127.0.0.1:${port}`), log);
  await assert.rejects(control.start(), { code: 'EADDRINUSE' });
  await control.stop();
});

/** docs/metrics.md has every family with its help. */
function assertDocumented(metrics: string): void {
  const families = [...metrics.matchAll(/^# HELP (portcullis_\w+) (.*)$/gm)].map(
    ([, name, help]) => `| \`${name}\` | ${help} |`,
  );
  const page = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  const documented = page.split('\n').filter((line) => line.startsWith('| `portcullis_'));
  assert.deepEqual(documented, families.toSorted());
}
