import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../db/testing.ts';
import { createEnforcement, describeEnforcement } from './enforcement.ts';
import type { EdgeStatus } from './status.ts';
import { insertEdge } from '../testing.ts';

function edge(name: string, change: Partial<EdgeStatus> = {}): EdgeStatus {
  return {
    id: 1,
    name,
    site: 'site',
    owner: 'fleet',
    devices: [],
    serves: [],
    sees: 'both',
    fragments: 'reassemble',
    mode: 'enforce',
    modeReason: null,
    enrolled: true,
    enforcing: true,
    lacksDevice: false,
    inService: true,
    leftServiceAt: null,
    lastSeenAt: new Date(),
    generation: 1,
    acceptedGeneration: 1,
    lagMs: 0,
    refused: [],
    report: null,
    ...change,
  };
}

test('none: no edge enforces; the detail gives the reasons', () => {
  assert.deepEqual(describeEnforcement([]), {
    state: 'none',
    detail:
      'Nothing is enforced: no edge enforces. Rules are accepted and stored; packets are not filtered by them.',
  });
  const observing = {
    mode: 'observe',
    enrolled: false,
    enforcing: false,
    inService: false,
  } as const;
  assert.deepEqual(
    describeEnforcement([
      edge('fra1', { ...observing, modeReason: 'nft is missing' }),
      edge('ams1', observing),
    ]),
    {
      state: 'none',
      detail: 'Nothing is enforced. Edges only observe: fra1 (nft is missing), ams1.',
    },
  );
});

test('full: every enforcing edge is in service and refuses nothing, whatever observing edges do', () => {
  const idle = edge('ams1', {
    mode: 'observe',
    enrolled: false,
    enforcing: false,
    inService: false,
  });
  assert.deepEqual(describeEnforcement([edge('fra1'), edge('fra2'), idle]), {
    state: 'full',
    detail: '2 edges in service, none refuses anything.',
  });
});

test('partial: names the edges that are out of service or refuse targets', () => {
  const away = edge('fra2', { inService: false, lastSeenAt: new Date(Date.now() - 90_400) });
  const refusing = edge('fra3', {
    refused: [{ target: '203.0.113.1', reason: 'no', goodGeneration: 0 }],
  });
  assert.deepEqual(describeEnforcement([edge('fra1'), away, refusing]), {
    state: 'partial',
    detail:
      '2 of 3 enforcing edges in service. Out of service, enforcing what they have: fra2 (last seen 90 s ago). Some addresses stay at an older state on fra3 (1 target).',
  });
  assert.equal(describeEnforcement([refusing]).state, 'partial');
  assert.equal(describeEnforcement([away]).state, 'partial');
});

test('caches the state for a moment', async (t) => {
  const { db } = await testDatabase(t);
  const reader = createEnforcement({ db, maxAgeMs: 60_000 });
  const first = await reader.read();
  assert.deepEqual([first.state, first.generation, first.edges], ['none', 0, []]);
  await insertEdge(db, 'fra1');
  assert.equal(await reader.read(), first);
  assert.equal((await createEnforcement({ db }).read()).edges[0]?.name, 'fra1');
});
