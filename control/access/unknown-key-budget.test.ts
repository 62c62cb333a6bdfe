import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnknownKeyBudget } from './unknown-key-budget.ts';

const refused = { code: 'rate_limited' };

test('a source that tries unknown keys is refused without a query, then gets one a second', () => {
  let nowMs = 0;
  const budget = new UnknownKeyBudget(() => nowMs);
  const attempt = (source: string, hash: string) => {
    budget.require(hash, source);
    budget.spend(hash, source);
  };
  for (let n = 0; n < 20; n += 1) attempt('192.0.2.1', `bad ${n}`);
  assert.throws(() => attempt('192.0.2.1', 'bad'), refused);
  attempt('192.0.2.2', 'bad');
  nowMs += 1_000;
  attempt('192.0.2.1', 'bad');
  assert.throws(() => attempt('192.0.2.1', 'bad'), refused);
});

test('a key that was good before is let in from a source without budget', () => {
  const budget = new UnknownKeyBudget(() => 0);
  budget.require('good', '192.0.2.1');
  budget.found('good');
  for (let n = 0; n < 20; n += 1) budget.spend(`bad ${n}`, '192.0.2.1');
  budget.require('good', '192.0.2.1');
  assert.throws(() => budget.require('new', '192.0.2.1'), refused);
  budget.spend('good', '192.0.2.1');
  assert.throws(() => budget.require('good', '192.0.2.1'), refused);
});

test('an IPv6 source counts by its /64, and all sources together have a budget', () => {
  const budget = new UnknownKeyBudget(() => 0);
  for (let n = 0; n < 20; n += 1) budget.spend('bad', `2001:db8::${n + 1}`);
  assert.throws(() => budget.require('bad', '2001:db8:0:0:5::1'), refused);
  budget.require('bad', '2001:db8:0:1::1');
  for (let n = 0; n < 380; n += 1) budget.spend('bad', `198.51.100.${n}`);
  assert.throws(() => budget.require('bad', '203.0.113.1'), refused);
});
