import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createEdgeAgent } from '@portcullis/edge/agent/agent.ts';
import { createFakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import type { KernelState } from '@portcullis/core/firewall/edge-state.ts';
import type { QueryEdges } from '../../fleet/index.ts';
import { serveEdges } from '../../fleet/test-edge.ts';
import { assignGroup, insertEdge } from '../../fleet/testing.ts';
import type { TestReply } from '../../testing/client.ts';
import { ACME, startEnvironment } from '../../testing/fixture.ts';

const X1 = '/api/x1/firewall/ips';
const V1 = '/api/v1/firewall/ips';
const IP = '203.0.113.10';
const TCP_80 = { protocol: 'tcp', source_ip: '198.51.100.7', destination_port: 80 };

interface Explained {
  readonly verdict: string;
  readonly edges: readonly {
    readonly name: string;
    readonly answer: {
      readonly verdict: string;
      readonly generation: number;
      readonly up_to_date: boolean;
      readonly kernel: string;
      readonly decided_by: { readonly id: number } | null;
    } | null;
  }[];
  readonly differences: readonly string[];
}
const explained = ({ status, body }: TestReply): Explained => {
  assert.equal(status, 200);
  return (body as { data: Explained }).data;
};

/** An edge that has not joined yet, or has an empty kernel, does not answer. */
async function firstAnswered(ask: () => Promise<Explained>): Promise<Explained> {
  for (let tries = 0; tries < 3_000; tries += 1) {
    const reported = await ask();
    if (reported.edges.some(({ answer }) => answer !== null)) return reported;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return assert.fail('no edge has answered');
}

/** The API and a real agent on a fake kernel. */
async function worldWithEdge(t: TestContext) {
  let ask: QueryEdges = async () => new Map();
  const world = await startEnvironment(t, {}, undefined, (edges, packet) => ask(edges, packet));
  await insertEdge(world.db, 'fra1');
  const { link, queryEdges } = serveEdges(world.db);
  ask = queryEdges;
  const kernel = createFakeKernel();
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-explain-'));
  let state: KernelState = 'undisturbed';
  const agent = createEdgeAgent({
    link: link.connect({ kind: 'edge', name: 'fra1' }),
    driver: kernel,
    host: {
      localAddresses: () => [],
      devices: () => ['eth0'],
      isUp: () => true,
      masterOf: () => null,
    },
    stateDir,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    mode: 'enforce',
    facts: { kernel: { state: () => state, repairs: () => 0 } },
  });
  t.after(async () => {
    await agent.stop();
    await link.control.close();
    rmSync(stateDir, { recursive: true });
  });
  await agent.start();
  // In its kernel, and reported to control.
  const enforced = async (generation: number): Promise<void> => {
    for (let tries = 0; tries < 3_000; tries += 1) {
      const edges = await world.db.selectFrom('edges').selectAll().execute();
      const [edge] = edges;
      if (edge?.in_service === true && edge.confirmed_generation >= generation) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(agent.status().generation, generation);
  };
  const announce = (): void => {
    link.control.notify({ kind: 'edge.changed', edge: 'fra1', changes: null });
  };
  return {
    ...world,
    kernel,
    agent,
    enforced,
    announce,
    disturb: (now: KernelState) => (state = now),
  };
}

test('an edge answers from its own policy, and differences from the accepted one are listed', async (t) => {
  const { acme, enforced, announce, disturb, agent } = await worldWithEdge(t);
  const ask = async (ip = IP) => explained(await acme.post(`${X1}/${ip}/explain`, TCP_80));
  assert.deepEqual(
    (await firstAnswered(ask)).edges.map(({ name, answer }) => [
      name,
      answer?.verdict,
      answer?.up_to_date,
    ]),
    [['fra1', 'pass', true]],
  );
  await acme.post(`${V1}/${IP}/rules`, { action: 'deny', protocol: 'any' });
  const behind = await ask();
  assert.equal(behind.verdict, 'drop');
  assert.deepEqual(
    [behind.edges[0]?.answer?.verdict, behind.edges[0]?.answer?.up_to_date],
    ['pass', false],
  );
  assert.match(
    behind.differences.join(' '),
    /fra1 applies another policy.* fra1 passes the packet/,
  );
  announce();
  await enforced(1);
  const level = await ask();
  assert.deepEqual(level.differences, []);
  const { answer } = level.edges[0] ?? {};
  assert.deepEqual(
    [answer?.verdict, answer?.generation, answer?.up_to_date, answer?.decided_by?.id],
    ['drop', 1, true, 1],
  );
  disturb('disturbed');
  assert.match(
    (await ask()).differences.join(' '),
    /The kernel of fra1 was changed by another program/,
  );
  await agent.stop();
  const away = await ask();
  assert.deepEqual([away.verdict, away.edges[0]?.answer], ['drop', null]);
  assert.match(away.differences.join(' '), /fra1 did not answer/);
});

test('an address without own objects uses the policy of its prefix, on the edge and in control', async (t) => {
  const { acme, db, enforced, announce } = await worldWithEdge(t);
  const { rows } = await db.executeQuery<{ id: number }>(
    db.selectFrom('holdings').select('id').where('cidr', '=', '203.0.113.0/24').compile(),
  );
  const holding = rows[0]?.id ?? assert.fail();
  const { generation } = await assignGroup(db, ACME, holding, ['203.0.113.0/24'], {
    protocol: 'tcp',
  });
  announce();
  await enforced(generation);
  const reported = explained(await acme.post(`${X1}/203.0.113.77/explain`, TCP_80));
  assert.deepEqual([reported.verdict, reported.edges[0]?.answer?.verdict], ['drop', 'drop']);
  assert.deepEqual(reported.differences, []);
});

test('an edge that refused the address answers from its last good policy', async (t) => {
  const { acme, enforced, announce, kernel } = await worldWithEdge(t);
  await acme.post(`${V1}/${IP}/rules`, {
    action: 'allow',
    protocol: 'tcp',
    destination_port: '80',
  });
  announce();
  await enforced(1);
  kernel.refuse = (text) =>
    text.includes('meta l4proto udp goto dropped_denied') ? 'no memory' : null;
  await acme.post(`${V1}/${IP}/rules`, { action: 'deny', protocol: 'udp' });
  announce();
  await enforced(2);
  const reported = explained(
    await acme.post(`${X1}/${IP}/explain`, { ...TCP_80, protocol: 'udp' }),
  );
  assert.deepEqual(
    [reported.verdict, reported.edges[0]?.answer?.verdict, reported.edges[0]?.answer?.generation],
    ['drop', 'pass', 1],
  );
  assert.equal(reported.edges[0]?.answer?.up_to_date, false);
});
