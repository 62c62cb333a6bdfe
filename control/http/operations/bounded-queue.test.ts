import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BoundedQueue, BoundedQueues, QueueFull } from './bounded-queue.ts';

function jobs() {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const job = (number: number) => () => {
    begun.push(number);
    return new Promise<number>((resolve) => ends.push(() => resolve(number)));
  };
  return { begun, ends, job };
}

test('runs a few jobs at once in the order in which they came, and refuses what has no place', async () => {
  const { begun, ends, job } = jobs();
  const queue = new BoundedQueue({ running: 2, waiting: 2 });
  const all = [1, 2, 3, 4].map((number) => queue.run(job(number)));
  await assert.rejects(queue.run(job(5)), QueueFull);
  assert.deepEqual(begun, [1, 2]);
  ends[0]?.();
  await all[0];
  assert.deepEqual([begun, queue.running, queue.waiting], [[1, 2, 3], 2, 1]);
  for (const at of [1, 2, 3]) {
    ends[at]?.();
    await turn();
  }
  assert.deepEqual(await Promise.all(all), [1, 2, 3, 4]);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

test('a job that nobody waits for any more is never begun, and its place is free', async () => {
  const { begun, ends, job } = jobs();
  const queue = new BoundedQueue({ running: 1, waiting: 1 });
  const ended = new AbortController();
  const first = queue.run(job(1));
  const dropped = queue.run(job(2), { ended: ended.signal });
  ended.abort(new Error('left'));
  await assert.rejects(dropped, /left/);
  await assert.rejects(queue.run(job(3), { ended: ended.signal }), /left/);
  const last = queue.run(job(4));
  ends[0]?.();
  await first;
  await turn();
  ends[1]?.();
  assert.equal(await last, 4);
  assert.deepEqual(begun, [1, 4]);
});

test('a job that fails frees its place, and one key does not wait for another', async () => {
  const queues = new BoundedQueues<string>({ running: 1, waiting: 0 });
  const { ends, job } = jobs();
  const one = queues.run('a', job(1));
  await assert.rejects(
    queues.run('b', () => Promise.reject(new Error('failed'))),
    /failed/,
  );
  await assert.rejects(queues.run('a', job(2)), QueueFull);
  assert.equal(queues.running, 1);
  ends[0]?.();
  assert.equal(await one, 1);
  assert.equal(queues.running, 0);
});

test('a key has places that nobody else needs, and another key its own at once', async () => {
  const queues = new BoundedQueues<string>({ running: 1, waiting: 9 }, { spare: 3 });
  const { begun, ends, job } = jobs();
  const all = [1, 2, 3, 4].map((number) => queues.run('a', job(number)));
  await turn();
  assert.deepEqual([begun, queues.running], [[1, 2, 3], 3]);
  all.push(queues.run('b', job(5)), queues.run('b', job(6)));
  await turn();
  assert.deepEqual(begun, [1, 2, 3, 5]);
  // The first place to come free is that of a key beyond its own: nobody gets it. The next goes to the one that has least.
  ends[0]?.();
  await turn();
  assert.deepEqual(begun, [1, 2, 3, 5]);
  ends[1]?.();
  await turn();
  assert.deepEqual([begun.length, queues.running], [5, 3]);
  for (let at = 2; at < 6; at += 1) {
    ends[at]?.();
    await turn();
  }
  assert.deepEqual(await Promise.all(all), [1, 2, 3, 4, 5, 6]);
  assert.equal(queues.running, 0);
});
