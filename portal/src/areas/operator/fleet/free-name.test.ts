import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeName } from './free-name.ts';

test('a new host is proposed a name that none has', () => {
  assert.equal(freeName('node-', []), 'node-1');
  assert.equal(freeName('node-', ['node-1', 'node-3', 'local']), 'node-2');
});
