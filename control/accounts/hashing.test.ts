import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRequest } from '../http/operations/request-end.ts';
import { Problem } from '../problem.ts';
import { deriveHash, hashing, releaseHashing } from './hashing.ts';

/** Cheaper than those of passwords. */
const ORDER = {
  message: 'password',
  nonce: new Uint8Array(16),
  memory: 8_192,
  passes: 1,
  parallelism: 1,
  tagLength: 32,
};

test('hashes wait in a queue with an end, and what nobody waits for is not hashed', async (t) => {
  t.after(releaseHashing);
  const request = new AbortController();
  const ended = { ended: request.signal };
  const places = hashing.size.running;
  const running = Array.from({ length: places }, () => deriveHash(ORDER));
  const left = Array.from({ length: 18 }, () => inRequest(ended, () => deriveHash(ORDER)));
  const stayed = [deriveHash(ORDER), deriveHash({ ...ORDER, message: 'another' })];
  assert.deepEqual([hashing.queue.running, hashing.queue.waiting], [places, 20]);
  const refused = await deriveHash(ORDER).catch((error: unknown) => error);
  assert.ok(refused instanceof Problem);
  assert.equal(refused.code, 'unavailable');
  assert.ok(Number(refused.headers['retry-after']) > 0);
  request.abort(new Error('left'));
  assert.equal(hashing.queue.waiting, 2);
  for (const one of await Promise.allSettled(left)) assert.equal(one.status, 'rejected');
  const [first] = await Promise.all(running);
  const [same, another] = await Promise.all(stayed);
  assert.deepEqual(first, same);
  assert.notDeepEqual(another, same);
  assert.equal(hashing.queue.running, 0);
});

test('a hash that cannot be made fails alone', async (t) => {
  t.after(releaseHashing);
  await assert.rejects(deriveHash({ ...ORDER, memory: 0 }), /was not hashed/);
  assert.equal((await deriveHash(ORDER)).length, 32);
});
