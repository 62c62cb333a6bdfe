import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentRef } from '../messages/messages.ts';
import { eventually, linkError } from '../testing/meeting.ts';
import { joinTransports } from './joined.ts';
import { createMemoryLink } from './memory.ts';

const CALL = { kind: 'node.call', withinMs: 1, uuid: '', call: { kind: 'look' } } as const;

test('calls an agent over the transport on which it is connected, and notifies and rechecks on all', async (t) => {
  const admitted = new Set(['a', 'b']);
  const links = ['first', 'second'].map(() =>
    createMemoryLink(
      async () => ({ kind: 'done' }),
      async ({ name }) => (admitted.has(name) ? { ok: true } : { ok: false, reason: 'gone' }),
    ),
  );
  const heard: string[] = [];
  for (const [index, name] of ['a', 'b'].entries()) {
    const ref: AgentRef = { kind: 'node', name };
    const agent = links[index]?.connect(ref);
    assert.ok(agent !== undefined);
    t.after(() => agent.close());
    agent.onCall(async () => ({ kind: 'refused', reason: name }));
    agent.onNotice(({ kind }) => heard.push(`${name}: ${kind}`));
    agent.onRefused(() => heard.push(`${name}: refused`));
    await new Promise<void>((resolve) => agent.onConnect(resolve));
  }
  const joined = joinTransports(links.map(({ control }) => control));
  for (const name of ['a', 'b']) {
    assert.deepEqual(await joined.call({ kind: 'node', name }, { ...CALL, uuid: UUID }, 5_000), {
      kind: 'refused',
      reason: name,
    });
  }
  await assert.rejects(
    joined.call({ kind: 'node', name: 'c' }, CALL, 5_000),
    linkError('disconnected'),
  );
  joined.notify({ kind: 'node.assignments', nodes: ['a', 'b'] });
  admitted.clear();
  joined.recheck(() => true);
  const expected = ['a: node.assignments', 'a: refused', 'b: node.assignments', 'b: refused'];
  await eventually(async () => assert.deepEqual(heard.toSorted(), expected));
});

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
