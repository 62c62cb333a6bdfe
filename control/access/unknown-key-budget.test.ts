import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnknownKeyBudget } from './authenticate.ts';

const refused = { code: 'rate_limited' };

test('a source that tries unknown keys is refused without a query, then gets one a second', () => {
  let nowMs = 0;
  const budget = new UnknownKeyBudget(() => nowMs);
  // All at once: none of the look-ups has ended.
  for (let n = 0; n < 20; n += 1) budget.take(`bad ${n}`, '192.0.2.1');
  assert.throws(() => budget.take('bad', '192.0.2.1'), refused);
  budget.take('bad', '192.0.2.2');
  nowMs += 1_000;
  budget.take('bad', '192.0.2.1');
  assert.throws(() => budget.take('bad', '192.0.2.1'), refused);
});

test('good keys cost nothing, and one that was good before is let in from a source without budget', () => {
  const budget = new UnknownKeyBudget(() => 0);
  for (let n = 0; n < 100; n += 1) {
    budget.take(`good ${n}`, '192.0.2.1');
    budget.found(`good ${n}`, '192.0.2.1');
  }
  for (let n = 0; n < 20; n += 1) budget.take(`bad ${n}`, '192.0.2.1');
  budget.take('good 7', '192.0.2.1');
  assert.throws(() => budget.take('new', '192.0.2.1'), refused);
  budget.unknown('good 7');
  assert.throws(() => budget.take('good 7', '192.0.2.1'), refused);
});

test('an IPv6 source counts by its /64, and many sources cost no other anything', () => {
  const budget = new UnknownKeyBudget(() => 0);
  for (let n = 0; n < 20; n += 1) budget.take('bad', `2001:db8::${n + 1}`);
  assert.throws(() => budget.take('bad', '2001:db8:0:0:5::1'), refused);
  for (let n = 0; n < 5_000; n += 1) budget.take('bad', `2001:db8:${n.toString(16)}:1::1`);
  budget.take('good', '203.0.113.1');
});
