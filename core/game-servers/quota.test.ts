import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leftOf, passedBy } from './quota.ts';

const QUOTA = { servers: 2, memory: 2_048, cpu: 200, disk: 4_096 };
const NONE = { servers: 0, memory: 0, cpu: 0, disk: 0 };

test('a server fits a quota exactly, and passes each part of it by one', () => {
  const whole = { memory: 2_048, cpu: 200, disk: 4_096 };
  assert.deepEqual(passedBy(whole, QUOTA, NONE), []);
  for (const field of ['memory', 'cpu', 'disk'] as const) {
    const passed = passedBy({ ...whole, [field]: whole[field] + 1 }, QUOTA, NONE);
    assert.deepEqual(
      passed.map((one) => one.field),
      [field],
    );
  }
  const [servers] = passedBy({ memory: 1, cpu: 1, disk: 1 }, QUOTA, { ...NONE, servers: 2 });
  assert.equal(servers?.detail, 'The quota has 0 servers left of 2.');
});

test('nothing is left of a quota that was lowered below what is used', () => {
  const used = { servers: 3, memory: 4_096, cpu: 100, disk: 1 };
  assert.deepEqual(leftOf(QUOTA, used), { servers: 0, memory: 0, cpu: 100, disk: 4_095 });
});
