import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayDecide, rolesBelow } from './member-roles.ts';

test('an owner decides about every role, an administrator about those below, others about none', () => {
  assert.deepEqual(rolesBelow('owner'), ['read-only', 'member', 'admin', 'owner']);
  assert.deepEqual(rolesBelow('admin'), ['read-only', 'member']);
  assert.deepEqual(rolesBelow('read-only'), []);
  assert.deepEqual(rolesBelow(null), []);
  assert.equal(mayDecide('admin', 'admin'), false);
  assert.equal(mayDecide('owner', 'owner'), true);
});
