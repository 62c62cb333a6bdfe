import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureFleet } from '../../bench/fleet/fleet.ts';
import { PROGRAMS } from '../../bench/fleet/measured-fleet.ts';
import { costRows, startRows } from '../../bench/fleet/rows.ts';
import type { FleetPlan } from '../../bench/fleet/plan.ts';
import { require } from '../../requirements.ts';

/** The bench at its smallest. It asserts what a busy machine cannot change: no time is compared with a limit. */
const PLAN: FleetPlan = {
  real: ['real1'],
  simulated: [4, 1],
  addresses: 400,
  disk: '64m',
  writesPerSecond: 5,
  warmUpWrites: 2,
  writes: 20,
  windows: 2,
  calmMs: 0,
  idleMs: 100,
};

test('a small fleet: every write is live, and every program is measured', async (t) => {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'postgres', 'nats-server'])) return;
  const { start, costs } = await measureFleet(PLAN, (line) => t.diagnostic(line));
  assert.ok(start.ms > 0 && start.controlMib > 0);
  assert.deepEqual(
    costs.map(({ edges }) => edges),
    [5, 2],
  );
  for (const { windows } of costs) {
    assert.equal(windows.length, PLAN.windows);
    for (const { propagation, use, natsKibPerWrite } of windows) {
      assert.ok(propagation.length > 0 && propagation.length <= PLAN.writes);
      assert.ok(propagation.every((ms) => ms >= 0));
      assert.ok(natsKibPerWrite > 0);
      for (const program of PROGRAMS) {
        const { ranMs, waitedMs } = use.trees[program];
        assert.ok(ranMs >= 0 && waitedMs >= 0, `${program}: ran ${ranMs}, waited ${waitedMs}`);
      }
      assert.ok(use.othersMs >= 0);
    }
  }
  // Each of them works for every write; the edge's process is a child of the command that was started.
  for (const program of ['control', 'PostgreSQL', 'real edges'] as const) {
    const windows = costs.flatMap((cost) => cost.windows);
    const ranMs = windows.reduce((sum, { use }) => sum + use.trees[program].ranMs, 0);
    assert.ok(ranMs > 0, `${program} used no processor time`);
  }
  const rows = [...startRows(PLAN, start), ...costs.flatMap((cost) => costRows(PLAN, cost))];
  assert.equal(new Set(rows.map(({ name }) => name)).size, rows.length);
  assert.ok(rows.every(({ value }) => value >= 0));
});
