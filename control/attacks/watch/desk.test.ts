import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchSamples } from '@portcullis/link/watch-messages.ts';
import { testDatabase } from '../../db/testing.ts';
import { insertEdge } from '../../fleet/testing.ts';
import { createWatchDesk } from './desk.ts';
import { ScopeTable } from './scopes.ts';

test('an edge hears when the database is lost, so that it acts by itself; what it counts is judged all the same', async (t) => {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  let nowMs = 0;
  const scopes = new ScopeTable(db, () => nowMs);
  let accepted = 0;
  const host = { accept: () => void accepted++ };
  const desk = createWatchDesk({ db, scopes, host, onAttack: () => {} });
  const answer = async (): Promise<string> => {
    const message: WatchSamples = {
      kind: 'watch.samples',
      instance: 'one',
      sequence: accepted + 1,
      atMs: 1,
      samples: [],
    };
    const reply = await desk.samples({ kind: 'edge', name: 'fra1' }, message);
    return reply.kind === 'refused' ? reply.code : reply.kind;
  };
  assert.equal(await answer(), 'done');
  nowMs += 11_000;
  assert.equal(await answer(), 'done');
  nowMs += 2_000;
  assert.equal(await answer(), 'unavailable');
  await scopes.load();
  assert.equal(await answer(), 'done');
  assert.equal(accepted, 4);
});
