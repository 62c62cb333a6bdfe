import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEdgeReport } from './edge-report.ts';

test('a report of any version is read as far as it is understood', () => {
  const empty = { policies: null, kernel: null, lastError: null, problems: [], devices: [] };
  assert.deepEqual(readEdgeReport(null), empty);
  assert.deepEqual(
    readEdgeReport({ policies: 'many', problems: 'x', devices: [null, 3, {}] }),
    empty,
  );
  assert.deepEqual(
    readEdgeReport({
      policies: 7,
      kernel: 'ok',
      lastError: null,
      problems: ['a', 1],
      devices: [{ name: 'eth0', present: true, xdp: 'driver', reason: null, speed: 10 }],
    }),
    {
      policies: 7,
      kernel: 'ok',
      lastError: null,
      problems: ['a'],
      devices: [{ name: 'eth0', isPresent: true, xdp: 'driver', reason: null }],
    },
  );
});
