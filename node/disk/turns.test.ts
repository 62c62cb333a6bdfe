import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lane, Turns } from './turns.ts';

const BATCH = 32;

/** A walk that asks for batches until the signal; counts what it got. */
async function walk(turns: Turns, lane: Lane, signal: AbortSignal): Promise<number> {
  let entries = 0;
  await turns.run(lane, async () => {
    try {
      for (;;) {
        await turns.take(lane, BATCH, signal);
        entries += BATCH;
      }
    } catch (error) {
      assert.equal(error, signal.reason);
    }
  });
  return entries;
}

test('walks of a lane advance alike, and starts have most of the pace', async () => {
  const turns = new Turns(2_000);
  const stop = new AbortController();
  const rounds = Array.from({ length: 5 }, () => walk(turns, 'round', stop.signal));
  const starts = [walk(turns, 'start', stop.signal), walk(turns, 'start', stop.signal)];
  // As many windows as it takes until a third start has got its share.
  await turns.run('start', async () => {
    for (let batch = 0; batch < 20; batch++) await turns.take('start', BATCH, stop.signal);
  });
  stop.abort(new Error('enough'));
  const [inRounds, inStarts] = [await Promise.all(rounds), await Promise.all(starts)];
  assert.ok(Math.max(...inRounds) - Math.min(...inRounds) <= 7 * BATCH, `${inRounds}`);
  assert.ok(Math.max(...inStarts) - Math.min(...inStarts) <= 7 * BATCH, `${inStarts}`);
  assert.ok(Math.min(...inRounds) > 0, 'rounds go on');
  const [round, start] = [sum(inRounds), sum(inStarts) + 20 * BATCH];
  assert.ok(start > 1.5 * round, `${start} of starts, ${round} of rounds`);
});

test('a walk that gives up leaves the line, and the others go on', async () => {
  const turns = new Turns(10);
  await turns.take('round', BATCH, new AbortController().signal);
  const [leaves, stays] = [new AbortController(), new AbortController()];
  const left = turns.take('round', BATCH, leaves.signal);
  const stayed = turns.take('round', BATCH, stays.signal);
  leaves.abort(new Error('left'));
  await assert.rejects(left, { message: 'left' });
  await stayed;
  await assert.rejects(turns.take('round', 1, leaves.signal), { message: 'left' });
});

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
