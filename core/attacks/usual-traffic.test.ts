import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LastingAttack, usualTraffic } from './usual-traffic.ts';

const NOW_MS = 1_790_000_000_000;
const STEP_MS = 16_000;
const sources = Array.from({ length: 10 }, (_, index) => ({ packets: 100 + index }));

/** Ninety minutes at the given rate of each step. */
function attack(
  rateOf: (step: number) => number,
  more: Partial<LastingAttack> = {},
): LastingAttack {
  const startMs = NOW_MS - 5_400_000;
  const pps = Array.from({ length: 5_400_000 / STEP_MS }, (_, step) => rateOf(step));
  const series = { startMs, stepMs: STEP_MS, pps, bps: pps.map((rate) => rate * 800) };
  return { type: 'udp_flood', startedAtMs: startMs, series, sources, ...more };
}

const launch = (step: number): number => 40_000 + 4_000 * Math.sin(step / 20);

test('a launch that lasts is asked about, with three times what was seen', () => {
  assert.deepEqual(usualTraffic(attack(launch), NOW_MS), { pps: 140_000, mbps: 110 });
});

test('what is short, uneven, of few sources, of one above all, or of reflectors is not', () => {
  const cases: readonly [string, LastingAttack][] = [
    ['short', attack(launch, { startedAtMs: NOW_MS - 3_500_000 })],
    ['pulses', attack((step) => (Math.floor(step / 40) % 2 === 0 ? 80_000 : 1_000))],
    ['a ramp', attack((step) => 1_000 + step * 500)],
    ['few sources', attack(launch, { sources: sources.slice(0, 5) })],
    ['one source', attack(launch, { sources: [...sources, { packets: 10_000 }] })],
    ['reflectors', attack(launch, { type: 'dns_amplification' })],
    ['SYNs', attack(launch, { type: 'tcp_syn_flood' })],
    ['no curve', attack(launch, { series: null })],
    ['over for ten minutes', attack((step) => (step > 300 ? 0 : 40_000))],
  ];
  for (const [name, one] of cases) assert.equal(usualTraffic(one, NOW_MS), null, name);
});
