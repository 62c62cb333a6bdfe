import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Attack } from '@portcullis/client/index.ts';
import { lanesOf } from './lanes.ts';

const attack = (destination_ip: string, from: string, to: string | null): Attack =>
  ({ destination_ip, started_at: from, ended_at: to }) as Attack;

it('lays attacks out within the window, one lane an address, and counts the lanes left out', () => {
  const window = { fromMs: Date.parse('2026-01-01T00:00Z'), toMs: Date.parse('2026-01-01T10:00Z') };
  const { lanes, hidden } = lanesOf(
    [
      attack('203.0.113.1', '2026-01-01T05:00Z', null),
      attack('203.0.113.2', '2026-01-01T02:00Z', '2026-01-01T03:00Z'),
      attack('203.0.113.1', '2025-12-31T23:00Z', '2026-01-01T01:00Z'),
      attack('203.0.113.3', '2026-01-01T01:00Z', '2026-01-01T01:00Z'),
    ],
    window,
    2,
  );
  assert.equal(hidden, 1);
  const drawn = lanes.map(({ ip, bars }) => [ip, ...bars.map(({ left, width }) => [left, width])]);
  assert.deepEqual(drawn, [
    ['203.0.113.1', [50, 50], [0, 10]],
    ['203.0.113.2', [20, 10]],
  ]);
});
