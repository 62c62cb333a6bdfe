import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AgentRequest } from '../messages/messages.ts';
import {
  confirm,
  connected,
  DONE,
  EDGE,
  linkError,
  type Meet,
  nextConnect,
  NODE,
  nodeHello,
  serve,
  TIMEOUT_MS,
} from './meeting.ts';
import type { Admit, AgentHandler } from '../transport/transport.ts';

const COLLECTOR_HELLO: AgentRequest = {
  kind: 'collector.hello',
  protocolVersion: 1,
  instance: 'instance-1',
};

export function kindTests(meet: Meet): void {
  it('accepts from each kind of agent only the requests of its kind', async (t) => {
    const meeting = await meet(t);
    const seen: string[] = [];
    await serve(t, meeting, async (from, request) => {
      seen.push(`${from.kind} ${from.name}: ${request.kind}`);
      return DONE;
    });
    const edge = await connected(t, meeting);
    const node = await connected(t, meeting, NODE);
    const collector = await connected(t, meeting, { kind: 'collector', name: 'flows' });
    assert.deepEqual(await node.request(nodeHello(), TIMEOUT_MS), DONE);
    for (const [agent, request] of [
      [node, confirm(1)],
      [edge, nodeHello()],
      [collector, confirm(1)],
      [collector, nodeHello()],
      [edge, COLLECTOR_HELLO],
      [node, COLLECTOR_HELLO],
    ] as const) {
      const reply = await agent.request(request, TIMEOUT_MS);
      assert.equal(reply.kind === 'refused' && reply.code, 'unsupported');
    }
    assert.deepEqual(await edge.request(confirm(1), TIMEOUT_MS), DONE);
    assert.deepEqual(await collector.request(COLLECTOR_HELLO, TIMEOUT_MS), DONE);
    assert.deepEqual(seen, [
      'node node-1: node.hello',
      'edge fra1: edge.confirm',
      'collector flows: collector.hello',
    ]);
  });

  it('delivers a notice only to the agents that it is for', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    const received: string[] = [];
    const agents = await Promise.all(
      [EDGE, { kind: 'edge', name: 'node-1' } as const, NODE, { ...NODE, name: 'node-2' }].map(
        async (ref) => {
          const agent = await connected(t, meeting, ref);
          agent.onNotice((notice) => received.push(`${ref.kind} ${ref.name}: ${notice.kind}`));
          return agent;
        },
      ),
    );
    control.notify({ kind: 'node.assignments', nodes: ['node-2', 'node-3'] });
    control.notify({ kind: 'watch', version: 'w1' });
    control.notify({ kind: 'edge.changed', edge: EDGE.name, changes: null });
    // A reply comes after the notices before it.
    await Promise.all(
      agents.map((agent, index) => agent.request(index < 2 ? confirm(1) : nodeHello(), TIMEOUT_MS)),
    );
    assert.deepEqual(received.toSorted(), [
      'edge fra1: edge.changed',
      'edge fra1: watch',
      'edge node-1: watch',
      'node node-2: node.assignments',
    ]);
  });
}

/** Admits agents by name. */
const BY_NAME: Admit = async (agent, credential) =>
  credential === `secret of ${agent.name}`
    ? { ok: true }
    : { ok: false, reason: `not the credential of ${agent.name}` };

export function admissionTests(meet: Meet): void {
  it('admits an agent with its own credential, and handles no request of any other agent', async (t) => {
    const meeting = await meet(t);
    const seen: string[] = [];
    const handler: AgentHandler = async (from) => {
      seen.push(from.name);
      return DONE;
    };
    await serve(t, meeting, handler, BY_NAME);
    const good = meeting.connect(NODE, 'secret of node-1');
    t.after(() => good.close());
    await nextConnect(good);
    assert.deepEqual(await good.request(nodeHello(), TIMEOUT_MS), DONE);
    for (const credential of [undefined, '', 'wrong', 'secret of node-1']) {
      const bad = meeting.connect({ kind: 'node', name: 'node-2' }, credential);
      t.after(() => bad.close());
      bad.onConnect(() => seen.push('admitted'));
      const reason = await new Promise((resolve) => bad.onRefused(resolve));
      assert.equal(reason, 'not the credential of node-2');
      await assert.rejects(bad.request(nodeHello(), TIMEOUT_MS), linkError('disconnected'));
      await bad.close();
    }
    assert.deepEqual(seen, ['node-1']);
  });

  it('admits an agent once its credential is valid, without a restart of the agent', async (t) => {
    const meeting = await meet(t);
    let enrolled = false;
    await serve(
      t,
      meeting,
      async () => DONE,
      async () => (enrolled ? { ok: true } : { ok: false, reason: 'not enrolled yet' }),
    );
    const agent = meeting.connect(NODE, 'early');
    t.after(() => agent.close());
    await new Promise((resolve) => agent.onRefused(resolve));
    enrolled = true;
    await nextConnect(agent);
    assert.deepEqual(await agent.request(nodeHello(), TIMEOUT_MS), DONE);
  });

  it('disconnects an agent that is no longer admitted, and no other agent', async (t) => {
    const meeting = await meet(t);
    const gone = new Set<string>();
    const control = await serve(
      t,
      meeting,
      async () => DONE,
      async (agent) =>
        gone.has(agent.name) ? { ok: false, reason: 'its credential was replaced' } : { ok: true },
    );
    const kept = await connected(t, meeting, { kind: 'node', name: 'node-2' });
    const removed = await connected(t, meeting, NODE);
    gone.add('node-1');
    const refused = new Promise((resolve) => removed.onRefused(resolve));
    control.recheck(() => true);
    assert.equal(await refused, 'its credential was replaced');
    await assert.rejects(removed.request(nodeHello(), TIMEOUT_MS), linkError('disconnected'));
    assert.deepEqual(await kept.request(nodeHello(), TIMEOUT_MS), DONE);
  });

  it('refuses an agent without a reason when the admission check throws', async (t) => {
    const meeting = await meet(t);
    await serve(
      t,
      meeting,
      async () => DONE,
      async () => {
        throw new Error('a secret of control');
      },
    );
    const agent = meeting.connect(NODE, 'good');
    t.after(() => agent.close());
    const reason = await new Promise((resolve) => agent.onRefused(resolve));
    assert.doesNotMatch(String(reason), /secret/);
    await assert.rejects(agent.request(nodeHello(), TIMEOUT_MS), linkError('disconnected'));
  });
}
