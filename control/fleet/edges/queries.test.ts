import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import { createEdgeQueries } from './queries.ts';

const PACKET = {
  family: 4,
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 17,
  sourcePort: 1,
  destinationPort: 53,
  icmp: null,
  hopLimit: 64,
  fragment: 'none',
} as const;

const verdict = (generation: number): LiveVerdict => ({
  mode: 'enforce',
  generation,
  verdict: { action: 'pass', stage: 'default', ref: null, observed: [] },
  explanation: 'It passes.',
  target: null,
  fingerprint: null,
  kernel: 'unknown',
});

test('returns the verdicts of the named edges, without those that are away, late or not asked', async (t) => {
  const link = createMemoryLink(async () => ({ kind: 'done' }));
  const asked: string[] = [];
  for (const [index, name] of ['fra1', 'ams1', 'silent', 'par1'].entries()) {
    const edge = link.connect({ kind: 'edge', name });
    t.after(() => edge.close());
    edge.onCall(async (call) => {
      asked.push(`${name}: ${call.kind}`);
      return name === 'silent' ? null : { kind: 'edge.verdict', live: verdict(index) };
    });
    await new Promise<void>((resolve) => edge.onConnect(resolve));
  }
  const query = createEdgeQueries(() => link.control, 500);
  const answers = await query(['fra1', 'ams1', 'silent', 'away'], PACKET);
  const generations = Object.fromEntries(
    [...answers].map(([name, { generation }]) => [name, generation]),
  );
  assert.deepEqual(generations, { fra1: 0, ams1: 1 });
  assert.deepEqual(asked, ['fra1: edge.explain', 'ams1: edge.explain', 'silent: edge.explain']);
});

test('returns at once without edges or without a link', async () => {
  assert.equal((await createEdgeQueries(() => null)(['fra1'], PACKET)).size, 0);
  assert.equal((await createEdgeQueries(() => null)([], PACKET)).size, 0);
});
