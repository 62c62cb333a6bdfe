import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBps, formatPps } from './format.ts';

test('formats rates in SI units with two decimals and never as 1000 of a unit', () => {
  assert.equal(formatBps(1_250_000_000), '1.25 Gbps');
  assert.equal(formatPps(812_400), '812.40 Kpps');
  assert.equal(formatPps(0), '0.00 pps');
  assert.equal(formatPps(999.994), '999.99 pps');
  assert.equal(formatPps(999_999), '1.00 Mpps');
  assert.equal(formatBps(3.2e12), '3.20 Tbps');
});
