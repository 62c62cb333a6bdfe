import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRef, AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import { testDatabase } from '../db/testing.ts';
import type { DetectionService } from '../agents/detection-service.ts';
import { createEdgeHandler } from './edge-handler.ts';
import { serveEdges } from './test-edge.ts';
import { insertEdge, silentEvents } from './testing.ts';

const FRA1: AgentRef = { kind: 'edge', name: 'fra1' };
const DONE: ControlReply = { kind: 'done' };
const MESSAGES: readonly AgentRequest[] = [
  { kind: 'detection.getSettings', instance: 'one', version: null, cursor: null },
  { kind: 'watch.samples', instance: 'one', sequence: 1, atMs: 1, samples: [] },
  { kind: 'edge.attacks', instance: 'one', atMs: 1, attacks: [] },
];

test('passes measurements of an edge to the service with the authenticated name', async (t) => {
  const { db } = await testDatabase(t);
  const { sync } = serveEdges(db);
  const taken: unknown[] = [];
  const take = async (from: AgentRef, message: AgentRequest): Promise<ControlReply> => {
    taken.push([from, message]);
    return DONE;
  };
  const watch: DetectionService = {
    settings: take,
    samples: (from, { request }) => take(from, request),
    attacks: (from, { request }) => take(from, request),
  };
  await insertEdge(db, 'fra1');
  const handler = createEdgeHandler({ db, sync, events: silentEvents(), watch });
  const agent = createMemoryLink(handler).connect(FRA1);
  await new Promise<void>((resolve) => agent.onConnect(resolve));
  for (const message of MESSAGES) assert.deepEqual(await agent.request(message, 10_000), DONE);
  assert.deepEqual(
    taken,
    MESSAGES.map((message) => [FRA1, message]),
  );
});

test('refuses measurements without a detection service, and still serves the edge', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const agent = serveEdges(db).link.connect(FRA1);
  await new Promise<void>((resolve) => agent.onConnect(resolve));
  for (const message of MESSAGES) {
    const reply = await agent.request(message, 10_000);
    assert.equal(reply.kind === 'refused' && reply.code, 'unsupported');
  }
});
