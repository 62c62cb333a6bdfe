import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wireAttack } from '../watch/testing.ts';
import { type Held, splitByHolder } from './holder-parts.ts';

const NOW = 1_000;

test('each part lies within one holding of the address, and no parts overlap, for any holdings', () => {
  const held = fc.record({
    holdingId: fc.nat({ max: 5 }),
    length: fc.constantFrom(8, 24, 32),
    fromMs: fc.integer({ min: -50, max: NOW }),
    untilMs: fc.option(fc.integer({ min: -20, max: 2 * NOW })),
  });
  fc.assert(
    fc.property(
      fc.array(held, { maxLength: 6 }),
      fc.nat({ max: NOW }),
      fc.option(fc.nat({ max: NOW })),
      (all, from, length) => {
        const holdings = all.filter(({ fromMs, untilMs }) => (untilMs ?? Infinity) > fromMs);
        const until = length === null ? null : Math.min(NOW, from + length);
        const attack = { ...wireAttack(from, until), openedAtMs: from };
        const slices = splitByHolder(attack, holdings, NOW);
        for (let atMs = from; atMs < (until ?? NOW); atMs += 7) {
          const here = slices.filter(
            ({ attack: { startedAtMs, endedAtMs } }) =>
              startedAtMs <= atMs && atMs < (endedAtMs ?? Infinity),
          );
          assert.deepEqual(
            here.map(({ holdingId }) => mostSpecific(holdings, atMs).includes(holdingId)),
            mostSpecific(holdings, atMs).length > 0 ? [true] : [],
          );
        }
        for (const slice of slices) {
          const { startedAtMs, openedAtMs, endedAtMs } = slice.attack;
          assert.ok(openedAtMs >= startedAtMs && (endedAtMs ?? Infinity) >= openedAtMs);
        }
      },
    ),
    { numRuns: 500 },
  );
});

/** Ids of the longest holdings at that time: the database has one. */
function mostSpecific(held: readonly Held[], atMs: number): number[] {
  const here = held.filter((one) => one.fromMs <= atMs && atMs < (one.untilMs ?? Infinity));
  const longest = Math.max(...here.map(({ length }) => length));
  return here.filter(({ length }) => length === longest).map(({ holdingId }) => holdingId);
}

test('gives each holder the series and the peak of its own part', () => {
  const attack = {
    ...wireAttack(0, 6_000, 100_000),
    series: {
      startMs: 0,
      stepMs: 1_000,
      pps: [1e5, 9e4, 1e3, 5e4, 2e4, 1e4],
      bps: [6, 5, 4, 3, 2, 1],
    },
  };
  const held = [
    { holdingId: 1, length: 24, fromMs: -10, untilMs: 2_000 },
    { holdingId: 2, length: 24, fromMs: 2_000, untilMs: null },
  ];
  const [first, second] = splitByHolder(attack, held, 9_000);
  assert.deepEqual(first?.attack.series, {
    startMs: 0,
    stepMs: 1_000,
    pps: [1e5, 9e4],
    bps: [6, 5],
  });
  assert.equal(second?.attack.series.startMs, 2_000);
  assert.deepEqual(second?.attack.series.pps, [1e3, 5e4, 2e4, 1e4]);
  assert.deepEqual([first?.attack.peakPps.value, second?.attack.peakPps.value], [1e5, 5e4]);
});
