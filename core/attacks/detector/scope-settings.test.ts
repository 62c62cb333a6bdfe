import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_SET, resolveScopes } from './scope-settings.ts';

test('takes each value from the nearest scope that sets it, and unites the safelists', () => {
  const address = { ...NOTHING_SET, pps: 500, safelist: ['192.0.2.1'] };
  const prefix = { ...NOTHING_SET, pps: 900, mbps: 20, mitigation: 'observe' as const };
  const organisation = {
    pps: 7,
    mbps: 8,
    holdSeconds: 9,
    mitigation: 'off' as const,
    safelist: ['198.51.100.0/24', '192.0.2.1'],
  };
  assert.deepEqual(resolveScopes([address, prefix, organisation]), {
    pps: 500,
    bps: 20_000_000,
    holdMs: 9000,
    mitigation: 'observe',
    safelist: ['192.0.2.1', '198.51.100.0/24'],
  });
});

test('applies the defaults, with mitigation on, if no scope sets a value', () => {
  assert.deepEqual(resolveScopes([]), {
    pps: 20_000,
    bps: 1_000_000_000,
    holdMs: 60_000,
    mitigation: 'on',
    safelist: [],
  });
});
