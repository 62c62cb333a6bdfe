import assert from 'node:assert/strict';
import { cpus } from 'node:os';
import { test } from 'node:test';
import { PROGRAMS, type Program, type Window } from './measured-fleet.ts';
import { parseOptions } from './plan.ts';
import { costRows, describeWindow } from './rows.ts';

const tookMs = 10_000;

/** A window whose writes took 1 to 100 ms each, times `slow`; others used this share of the machine. */
function windowOf({ slow = 1, others = 0 }): Window {
  const trees = Object.fromEntries(
    PROGRAMS.map((program) => [program, { ranMs: 1_000, waitedMs: 2_000 }]),
  ) as Record<Program, { ranMs: number; waitedMs: number }>;
  return {
    writes: 100,
    propagation: Array.from({ length: 100 }, (_, at) => (at + 1) * slow),
    use: { tookMs, trees, othersMs: others * cpus().length * tookMs, pressure: null },
    controlMib: 200,
    natsKibPerWrite: 30,
  };
}

function valueOf(windows: Window[], part: string): number | undefined {
  const idle = { use: windowOf({}).use, natsKibPerSecond: 5 };
  const rows = costRows(parseOptions([]), { edges: 203, idle, windows });
  return rows.find(({ name }) => name.includes(part))?.value;
}

test('a p99 is of the worst window that others did not disturb', () => {
  const windows = [windowOf({}), windowOf({ slow: 3 }), windowOf({ slow: 50, others: 0.5 })];
  assert.equal(valueOf(windows, 'p99'), 300);
  assert.equal(valueOf(windows, 'windows that others did not disturb'), 2);
});

test('there is no p99 where others disturbed every window, and the line says why', () => {
  const disturbed = windowOf({ others: 0.2 });
  assert.equal(valueOf([disturbed], 'p99'), undefined);
  assert.equal(valueOf([disturbed], 'p50'), 51);
  assert.match(describeWindow(disturbed), /no p99, because others used \d+ % of a core/);
  assert.match(describeWindow(windowOf({})), /100 ms \(p99\)/);
});

test('processor time and waiting are rates', () => {
  assert.equal(valueOf([windowOf({})], 'NATS, of one core'), 10);
  assert.equal(valueOf([windowOf({})], 'NATS, waiting'), 200);
});
