import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import { NodeCalls } from './calls.ts';

const START = { kind: 'power', signal: 'start' } as const;
const PLACE = { node: 'n', uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11' };
const ACCEPTED = { kind: 'accepted' } as const;

/** Nodes `n`, which does not answer while `hangs`, and `m`. */
async function calling() {
  const link = createMemoryLink(async () => ({ kind: 'done' }));
  const nodes = { hangs: false, leave: async () => {} };
  for (const name of ['n', 'm']) {
    const node = link.connect({ kind: 'node', name });
    node.onCall(async () => (name === 'n' && nodes.hangs ? null : ACCEPTED));
    await new Promise<void>((resolve) => node.onConnect(resolve));
    if (name === 'n') nodes.leave = () => node.close();
  }
  const outcomes: string[] = [];
  const calls = new NodeCalls({
    called: (node, kind, outcome) => outcomes.push(`${node} ${kind} ${outcome}`),
  });
  calls.useLink(link.control);
  return { calls, nodes, outcomes };
}

test('returns the answer, silence after the timeout, and at once when the node is absent', async () => {
  const { calls, nodes, outcomes } = await calling();
  assert.deepEqual(await calls.call(PLACE, START, 5_000), ACCEPTED);
  nodes.hangs = true;
  assert.deepEqual(await calls.call(PLACE, START, 20), { kind: 'silent', why: 'late' });
  const absent = { kind: 'silent', why: 'absent' };
  assert.deepEqual(await calls.call({ ...PLACE, node: 'x' }, START, 60_000), absent);
  assert.deepEqual(await new NodeCalls({ called: () => {} }).call(PLACE, START, 60_000), absent);
  assert.deepEqual(outcomes, ['n power accepted', 'n power late', 'x power absent']);
});

test('says that a node may have done it where its connection ended before it answered', async () => {
  const { calls, nodes } = await calling();
  nodes.hangs = true;
  const cut = calls.call(PLACE, START, 60_000);
  await delay(0);
  await nodes.leave();
  assert.deepEqual(await cut, { kind: 'silent', why: 'cut' });
});

test('bounds the calls to one node and refuses further ones at once, until some have ended', async () => {
  const { calls, nodes } = await calling();
  nodes.hangs = true;
  const open = Array.from({ length: 1_000 }, () => calls.call(PLACE, START, 2_000));
  assert.deepEqual(await calls.call(PLACE, START, 60_000), { kind: 'silent', why: 'busy' });
  assert.deepEqual(await calls.call({ ...PLACE, node: 'm' }, START, 60_000), ACCEPTED);
  for (const outcome of await Promise.all(open)) assert.equal(outcome.kind, 'silent');
  nodes.hangs = false;
  await delay(0);
  assert.deepEqual(await calls.call(PLACE, START, 60_000), ACCEPTED);
});
