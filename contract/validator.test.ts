import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestamp } from './schemas/values.ts';
import { createValidator } from './validator.ts';

test('a time has a year of four digits in UTC too, so that what is stored can be answered', () => {
  const { fits } = createValidator(timestamp());
  assert.ok(fits('9999-12-31T23:59:59Z'));
  assert.ok(!fits('9999-12-31T23:59:59-00:01'));
  assert.ok(!fits('2026-01-01T00:00:00Z[UTC]'));
});
