import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mitigation } from '@portcullis/core/firewall/policy.ts';
import { allowPort, denyAll, filteredPolicy } from '../../testing/policies.ts';
import { needsFlows } from './needs-flows.ts';
import { compileEarly } from '../compile/compile.ts';

const TARGET = '203.0.113.10';
const REFLECTOR: Mitigation = {
  ref: 'mitigation:1',
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: 53,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: null,
};

test('learns flows before the first mitigation of an address, because its egress was not recorded', () => {
  const open = compileEarly(filteredPolicy(TARGET));
  const attacked = compileEarly({ ...filteredPolicy(TARGET), mitigations: [REFLECTOR] });
  const another = { ...REFLECTOR, sourcePort: 123 };
  const more = compileEarly({ ...filteredPolicy(TARGET), mitigations: [REFLECTOR, another] });
  assert.deepEqual(
    [needsFlows(open, attacked), needsFlows(attacked, more), needsFlows(attacked, open)],
    [true, false, false],
  );
});

test('learns flows before a port is closed', () => {
  const open = compileEarly(denyAll(TARGET, [allowPort('udp', 80)]));
  const closed = compileEarly(denyAll(TARGET));
  assert.deepEqual([needsFlows(open, closed), needsFlows(closed, open)], [true, false]);
});
