import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import {
  isAgainst,
  MAX_ACTIONS,
  typesOf,
} from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import fc from 'fast-check';
import {
  type PlannedResponse,
  planResponse,
  type ResponseState,
  type ActiveMitigation,
} from './plan.ts';

const SUBJECT = '203.0.113.10';
const TYPES: readonly AttackType[] = [
  'udp_flood',
  'tcp_syn_flood',
  'icmp_flood',
  'dns_amplification',
  'multi_vector',
  'other_flood',
];
const type = fc.constantFrom(...TYPES);
const port = fc.record({ port: fc.integer({ min: 1, max: 8 }), packets: fc.nat(9000) });
const seldom = fc.integer({ min: 0, max: 5 }).map((drawn) => drawn === 0);

/** The events and settings at one time, independent of the existing mitigations. */
const moment: fc.Arbitrary<Omit<ResponseState, 'active'>> = fc.record({
  subject: fc.constant(SUBJECT),
  facts: fc.record({
    type,
    shares: fc.uniqueArray(fc.record({ type, share: fc.double({ min: 0, max: 1, noNaN: true }) })),
    present: fc.uniqueArray(fc.constantFrom(...TYPES.filter((one) => one !== 'multi_vector'))),
    tops: fc.option(
      fc.record({
        sources: fc.array(fc.record({ source: fc.ipV4(), packets: fc.nat(9000) }), {
          maxLength: 10,
        }),
        sourcePorts: fc.array(port, { maxLength: 10 }),
        destinationPorts: fc.array(port, { maxLength: 10 }),
      }),
    ),
  }),
  ended: seldom,
  expired: seldom,
  cancelled: seldom,
  scope: fc.option(
    fc.record({
      pps: fc.integer({ min: 1, max: 100_000 }),
      mitigation: fc.constantFrom('off' as const, 'observe' as const, 'on' as const, 'on' as const),
      safelist: fc.subarray(['192.0.2.0/24', '198.51.100.7']),
    }),
    { freq: 8 },
  ),
});

let lastId = 0;
function carriedOut(
  active: readonly ActiveMitigation[],
  plan: PlannedResponse,
): ActiveMitigation[] {
  const gone = new Set(plan.end.map(({ id }) => id));
  return [
    ...active.filter(({ id }) => !gone.has(id)),
    ...plan.begin.map((one) => ({ ...one, id: ++lastId })),
  ];
}

test('an applied plan leaves nothing to plan, and all mitigations are bounded and required, for any order of events', () => {
  fc.assert(
    fc.property(fc.array(moment, { minLength: 1, maxLength: 8 }), (moments) => {
      let active: ActiveMitigation[] = [];
      for (const now of moments) {
        const before = active;
        const plan = planResponse({ ...now, active });
        active = carriedOut(active, plan);
        const again = planResponse({ ...now, active });
        assert.deepEqual([again.begin, again.end], [[], []]);
        const actions = active.map(({ action }) => JSON.stringify(action));
        assert.equal(new Set(actions).size, actions.length);
        assert.ok(active.length <= MAX_ACTIONS);
        const { scope, ended, expired, cancelled } = now;
        if (ended || expired || cancelled || scope === null || scope.mitigation === 'off') {
          assert.deepEqual(active, []);
          continue;
        }
        const mode = scope.mitigation === 'on' ? 'enforce' : 'observe';
        assert.ok(
          active.every((one) => one.mode === mode && one.safelist.join() === scope.safelist.join()),
        );
        // No action is withdrawn while the attack has a type that it is against.
        const kept = new Set(actions);
        const types = typesOf(now.facts);
        for (const { action } of before)
          assert.equal(kept.has(JSON.stringify(action)), isAgainst(action, types));
        assert.ok(active.length > 0);
      }
    }),
    { numRuns: 500 },
  );
});
