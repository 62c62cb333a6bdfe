import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AgentAnswer, AgentCall } from '../messages/messages.ts';
import type { NodeCall } from '../messages/node.ts';
import {
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

const ACCEPTED: AgentAnswer = { kind: 'accepted' };

export function callTests(meet: Meet): void {
  it('delivers a call to the agent that it names and to no other, and returns its answer', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    const called: string[] = [];
    for (const ref of [
      EDGE,
      NODE,
      { kind: 'edge', name: NODE.name } as const,
      { ...NODE, name: 'node-2' },
    ]) {
      const agent = await connected(t, meeting, ref);
      agent.onCall(async (call) => {
        called.push(`${ref.kind} ${ref.name}: ${commandOf(call)}`);
        return { kind: 'refused', reason: ref.name };
      });
    }
    assert.deepEqual(await control.call(NODE, command('op player'), TIMEOUT_MS), {
      kind: 'refused',
      reason: 'node-1',
    });
    assert.deepEqual(called, ['node node-1: op player']);
  });

  it('answers 500 parallel calls, each with its own answer', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    const node = await connected(t, meeting, NODE);
    node.onCall(async (call) => ({ kind: 'refused', reason: commandOf(call) }));
    const commands = Array.from({ length: 500 }, (_, index) => `${index} ${'x'.repeat(1_000)}`);
    assert.deepEqual(
      await Promise.all(commands.map((text) => control.call(NODE, command(text), TIMEOUT_MS))),
      commands.map((reason) => ({ kind: 'refused', reason })),
    );
  });

  it('fails a call to an agent that is away at once, and one without an answer after its timeout', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    await assert.rejects(control.call(NODE, command('a'), 60_000), linkError('disconnected'));
    const node = await connected(t, meeting, NODE);
    node.onCall(async () => null);
    await assert.rejects(control.call(NODE, command('b'), 20), linkError('timeout'));
  });

  it('calls the newest connection of an agent', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    const old = await connected(t, meeting, NODE);
    old.onCall(async () => ({ kind: 'refused', reason: 'the old connection' }));
    const node = await connected(t, meeting, NODE);
    node.onCall(async () => ACCEPTED);
    assert.deepEqual(await control.call(NODE, command('a'), TIMEOUT_MS), ACCEPTED);
  });

  it('calls an agent again after control restarted', async (t) => {
    const meeting = await meet(t);
    const first = await meeting.serve(async () => DONE);
    const node = await connected(t, meeting, NODE);
    node.onCall(async () => ACCEPTED);
    const back = nextConnect(node, 2);
    await first.close();
    const second = await serve(t, meeting, async () => DONE);
    await back;
    assert.deepEqual(await second.call(NODE, command('a'), TIMEOUT_MS), ACCEPTED);
  });

  it('disconnects an agent that gives an invalid answer', async (t) => {
    const meeting = await meet(t);
    const control = await serve(t, meeting, async () => DONE);
    const node = await connected(t, meeting, NODE);
    node.onCall(async () => ({ kind: 'refused', reason: 7 }) as unknown as AgentAnswer);
    const back = nextConnect(node, 2);
    await assert.rejects(control.call(NODE, command('a'), TIMEOUT_MS), linkError('interrupted'));
    await back;
    assert.deepEqual(await node.request(nodeHello(), TIMEOUT_MS), DONE);
  });
}

function commandOf(call: AgentCall): string {
  return call.kind === 'node.call' && call.call.kind === 'command' ? call.call.command : '';
}

function command(text: string): NodeCall {
  const uuid = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
  return {
    kind: 'node.call',
    withinMs: TIMEOUT_MS,
    uuid,
    call: { kind: 'command', command: text },
  };
}
