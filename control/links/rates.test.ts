import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import { AgentRates } from './rates.ts';

const NODE = { kind: 'node', name: 'node-1' } as const;
const OTHER = { kind: 'node', name: 'node-2' } as const;

function beat(instance: string): AgentRequest {
  const engine = {
    kind: 'fake',
    version: null,
    problem: null,
    host: null,
    mounts: null,
    fileLinks: false,
  } as const;
  return { kind: 'node.heartbeat', instance, engine, builds: [], purged: [], sftp: null };
}

test('an agent beyond its rate is slowed down, its last state wins, and others are not slowed down', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  const taken: string[] = [];
  const handler = new AgentRates(() => nowMs).limit(async ({ name }, request) => {
    taken.push(`${name} ${request.kind === 'node.heartbeat' ? request.instance : ''}`);
    return { kind: 'done' };
  });
  const replies = Array.from({ length: 1_000 }, (_, index) => handler(NODE, beat(String(index))));
  await new Promise(setImmediate);
  assert.equal(taken.length, 20);
  assert.equal((await handler(OTHER, beat('x'))).kind, 'done');
  nowMs += 500;
  t.mock.timers.tick(500);
  const kinds = (await Promise.all(replies)).map(({ kind }) => kind);
  assert.deepEqual(taken.slice(20), ['node-2 x', 'node-1 999']);
  assert.equal(kinds.filter((kind) => kind === 'refused').length, 1_000 - 21);
  // Other kinds of its requests have rates of their own.
  const hello = { kind: 'node.hello', protocolVersion: 1, instance: 'i' } as const;
  assert.equal((await handler(NODE, hello)).kind, 'done');
});
