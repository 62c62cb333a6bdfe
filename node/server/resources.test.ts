import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ResourceFacts, resourcesOf } from './resources.ts';

const USAGE = { memoryBytes: 5, cpuPercent: 1.5, networkRxBytes: 6, networkTxBytes: 7 };
const RUNNING: ResourceFacts = {
  runs: true,
  usage: USAGE,
  instance: {
    uuid: 'x',
    status: 'running',
    exitCode: null,
    oomKilled: false,
    startedAtMs: 1_000,
  },
  diskBytes: 8,
  memoryMib: 512,
  nowMs: 3_000,
};

it('reports measured values, null for unmeasured ones, and nothing for offline servers', () => {
  const limit = { memoryLimitBytes: 512 * 1024 * 1024 };
  assert.deepEqual(resourcesOf(RUNNING), {
    ...limit,
    memoryBytes: 5,
    cpuAbsolute: 1.5,
    diskBytes: 8,
    networkRxBytes: 6,
    networkTxBytes: 7,
    uptimeMs: 2_000,
  });
  assert.equal(resourcesOf({ ...RUNNING, usage: null }), null);
  assert.equal(resourcesOf({ ...RUNNING, diskBytes: null }), null);
  assert.deepEqual(resourcesOf({ ...RUNNING, runs: false }), {
    ...limit,
    memoryBytes: 0,
    cpuAbsolute: 0,
    diskBytes: 8,
    networkRxBytes: 0,
    networkTxBytes: 0,
    uptimeMs: 0,
  });
});
