import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CancelledAttacks } from './cancelled-attacks.ts';

const A = '203.0.113.10';
const CANCELLED = [{ subject: A, startedAtMs: 1_000 }];
const MINUTE_MS = 60_000;
const seen = new Map([[A, true]]);
const unseen = new Map<string, true>();
const alone = { durationMs: MINUTE_MS, isControlThere: false, ongoing: seen };

test('a cancelled attack is not mitigated until five minutes after its end', () => {
  const attacks = new CancelledAttacks();
  for (let n = 0; n < 60; n++) assert.ok(attacks.step(CANCELLED, alone).has(A));
  for (let n = 0; n < 4; n++) {
    assert.ok(attacks.step(CANCELLED, { ...alone, ongoing: unseen }).has(A));
  }
  assert.ok(attacks.step(CANCELLED, alone).has(A));
  for (let n = 0; n < 5; n++) attacks.step(CANCELLED, { ...alone, ongoing: unseen });
  // Another attack without a cancellation.
  assert.equal(attacks.step(CANCELLED, alone).size, 0);
  assert.equal(attacks.step([{ subject: A, startedAtMs: 2_000 }], alone).size, 1);
});

test('control itself ends a cancellation while it answers', () => {
  const attacks = new CancelledAttacks();
  const there = { ...alone, isControlThere: true, ongoing: unseen };
  for (let n = 0; n < 60; n++) assert.ok(attacks.step(CANCELLED, there).has(A));
  assert.equal(attacks.step([], there).size, 0);
});
