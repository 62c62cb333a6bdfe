import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeName, isTaken } from './free-name.ts';

test('a new host is proposed a name that none has', () => {
  assert.equal(freeName('node-', []), 'node-1');
  assert.equal(freeName('node-', ['node-1', 'node-3', 'local']), 'node-2');
});

test('a name that a host has is not sent as that of a new one', () => {
  assert.equal(isTaken(' fra1 ', ['fra1']), true);
  assert.equal(isTaken('fra2', ['fra1']), false);
});
