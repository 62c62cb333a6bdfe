import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasJobEnded } from './jobs.ts';

const jobs = (states: Readonly<Record<string, string>>) =>
  Object.entries(states).map(([id, state]) => ({ id, state }));
const hasEnded = (
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): boolean => hasJobEnded(jobs(before), jobs(now));

test('a job that ran and runs no longer has ended, however it did', () => {
  for (const state of ['done', 'failed', 'cancelled'])
    assert.ok(hasEnded({ a: 'running', b: 'running' }, { a: state, b: 'running' }), state);
  assert.ok(hasEnded({ a: 'running' }, {}));
});

test('a job that was never seen to run has ended too', () => {
  assert.ok(hasEnded({}, { a: 'done' }));
});

test('a job ends once', () => {
  assert.ok(!hasEnded({ a: 'done', b: 'failed' }, { a: 'done', b: 'failed' }));
  assert.ok(!hasEnded({ a: 'done', b: 'failed' }, { b: 'failed' }));
  assert.ok(!hasEnded({ a: 'running' }, { a: 'running', b: 'running' }));
});
