import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '@portcullis/core/schema.ts';
import { EMPTY_POLICY, type Mitigation, type Policy } from '@portcullis/core/firewall/policy.ts';
import { policies, withPreviousNames } from './policy.ts';

const LIMIT = { per: 'source', pps: 5, unansweredOnly: true } as const;
const MITIGATION: Mitigation = {
  ref: 'mitigation:1',
  mode: 'enforce',
  protocol: 'udp',
  sourcePort: null,
  destinationPort: null,
  source: null,
  safelist: [],
  fragment: 'any',
  limit: LIMIT,
};

test('a policy that is sent has a limit by its present name and that of version 0.1', () => {
  const others = [{ ...MITIGATION, limit: null }];
  const policy: Policy = {
    target: '203.0.113.10',
    ...EMPTY_POLICY,
    mitigations: [MITIGATION, ...others],
  };
  const sent = withPreviousNames(policy);
  assert.deepEqual(sent.mitigations, [
    { ...MITIGATION, limit: { ...LIMIT, strangersOnly: true } },
    ...others,
  ]);
  assert.deepEqual(check(policies, [sent]), { ok: true, value: [policy] });
  const { unansweredOnly, ...rest } = LIMIT;
  const before = { ...MITIGATION, limit: { ...rest, strangersOnly: unansweredOnly } };
  assert.deepEqual(check(policies, [{ ...policy, mitigations: [before, ...others] }]), {
    ok: true,
    value: [policy],
  });
});
