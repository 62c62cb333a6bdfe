import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions, planProcesses, servedBy } from './plan.ts';

test('several processes have the simulated edges of each size', () => {
  assert.deepEqual(planProcesses([200, 20, 2]), [
    [45, 45, 45, 45],
    [4, 5, 4, 5],
    [1, 1],
  ]);
  assert.deepEqual(planProcesses([1_001])[0], [200, 200, 200, 200, 201]);
});

test('the simulated edges divide the addresses', () => {
  const plan = parseOptions([]);
  assert.equal(servedBy(plan, 0), '10.0.0.0/23');
  assert.equal(servedBy(plan, 195), '10.1.134.0/23');
  const many = parseOptions(['--edges', '1000']);
  assert.equal(servedBy(many, 1), '10.0.0.128/25');
  assert.equal(servedBy(many, 782), '10.0.0.0/25');
  const few = parseOptions(['--edges', '1000', '--addresses', '100']);
  assert.equal(servedBy(few, 99), '10.0.0.99/32');
});

test('sizes go down, and numbers are above 0', () => {
  assert.deepEqual(parseOptions(['--edges', '20,2']).simulated, [20, 2]);
  assert.throws(() => parseOptions(['--edges', '2,20']), /does not go down/);
  assert.throws(() => parseOptions(['--writes', '0']), /no number above 0/);
  assert.throws(() => parseOptions(['--what']), /--what/);
});
