import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decide } from './decide/decide.ts';
import { deniesFlow } from './denied-flow.ts';
import { FIRST_PACKET } from './decide/first-packet.ts';
import type { Packet, PacketState } from './packet.ts';
import { createPolicyTable } from './policy-table.ts';
import { situation } from './testing/edge-views.ts';

test('removes a connection if and only if rules drop a new packet of it', () => {
  const seen = { kept: 0, forgotten: 0 };
  fc.assert(
    fc.property(situation(), ({ policies, settings, sourceSets, packet }) => {
      const edge = { settings, sourceSets, policies: createPolicyTable(policies) };
      const begin: Packet = { ...packet, hopLimit: 64, fragment: 'none' };
      const bare = policies.map((policy) => ({ ...policy, mitigations: [] }));
      const withoutAttacks = { ...edge, policies: createPolicyTable(bare) };
      const denied = deniesFlow(edge, begin);
      seen[denied ? 'forgotten' : 'kept'] += 1;
      assert.equal(denied, decide(withoutAttacks, begin, FIRST_PACKET).action === 'drop');
      const now = decide(edge, begin, FIRST_PACKET);
      // No new packet of a removed connection passes.
      if (denied) assert.equal(now.action, 'drop');
      else if (now.action === 'drop') assert.equal(now.stage, 'mitigations');
    }),
    { numRuns: 800 },
  );
  assert.ok(seen.kept > 50 && seen.forgotten > 50, JSON.stringify(seen));
});

test('keeps a connection that rules allow, even if a rate limit or a filter drops packets', () => {
  const busy: PacketState = { ...FIRST_PACKET, icmpWithinRate: false, fragmentsWithinLimit: false };
  fc.assert(
    fc.property(situation(), ({ policies, settings, sourceSets, packet, state }) => {
      const edge = { settings, sourceSets, policies: createPolicyTable(policies) };
      const begin: Packet = { ...packet, hopLimit: 64, fragment: 'none' };
      const { aboveLimit, filtered } = state;
      const { action, stage } = decide(edge, begin, { ...busy, aboveLimit, filtered });
      // Filters come last: their packets have passed the rules.
      if (action === 'drop' && stage === 'filters') assert.equal(deniesFlow(edge, begin), false);
    }),
    { numRuns: 500 },
  );
});
