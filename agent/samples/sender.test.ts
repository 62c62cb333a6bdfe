import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { BEGIN_MS, sampleOf } from '@portcullis/core/attacks/testing/samples.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import {
  MAX_SAMPLES_PER_MESSAGE,
  type WatchSamples,
  type WireSample,
} from '@portcullis/link/messages/attacks.ts';
import { SampleSender } from './sender.ts';

const DONE: ControlReply = { kind: 'done' };
const unavailable: ControlReply = { kind: 'refused', code: 'unavailable', detail: 'no database' };
const unsupported: ControlReply = { kind: 'refused', code: 'unsupported', detail: 'an old one' };

function wireSample(index: number, hosts: Readonly<Record<string, number>> = {}): WireSample {
  return { ...sampleOf(index, hosts), tops: [] };
}

/** A control plane that answers on request of the test. */
async function meet(t: TestContext, timeoutMs = 10_000) {
  const taken: WatchSamples[] = [];
  const errors: unknown[] = [];
  const answers: ((reply: ControlReply) => void)[] = [];
  const link = createMemoryLink((_, request) => {
    assert.ok(request.kind === 'watch.samples');
    taken.push(request);
    const { promise, resolve } = Promise.withResolvers<ControlReply>();
    answers.push(resolve);
    return promise;
  });
  const agent = link.connect({ kind: 'edge', name: 'fra1' });
  const connected = Promise.withResolvers<void>();
  agent.onConnect(() => connected.resolve());
  await connected.promise;
  const log = { debug() {}, info() {}, warn() {}, error: (what: object) => void errors.push(what) };
  const options = { link: agent, instance: 'one', nowMs: () => BEGIN_MS, log, timeoutMs };
  const sender = new SampleSender(options);
  t.after(async () => {
    for (const answer of answers) answer(DONE);
    await agent.close();
    await sender.stop();
    await link.control.close();
  });
  const answer = async (reply: ControlReply): Promise<void> => {
    while (answers.length === 0) await setImmediate();
    answers.shift()?.(reply);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  };
  return { sender, taken, answer, errors, lose: () => agent.close() };
}

test('only the newest samples wait while control is silent, and go in one message', async (t) => {
  const { sender, taken, answer } = await meet(t);
  for (let index = 0; index < 50; index++) sender.push(wireSample(index));
  await answer(DONE);
  await answer(DONE);
  assert.equal(taken.length, 2);
  const newest = Array.from({ length: MAX_SAMPLES_PER_MESSAGE }, (_, n) => wireSample(42 + n));
  assert.deepEqual(
    taken[1]?.samples.map(({ atMs }) => atMs),
    newest.map(({ atMs }) => atMs),
  );
  assert.deepEqual(
    taken.map(({ sequence }) => sequence),
    [1, 2],
  );
});

test('a message that is too large drops the oldest samples, never the newest', async (t) => {
  const { sender, taken, answer } = await meet(t);
  const hosts = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, n) => [`203.0.${n >> 8}.${n & 255}`, 1_000]),
  );
  sender.push(wireSample(0));
  for (let index = 1; index <= 5; index++) sender.push(wireSample(index, hosts));
  await answer(DONE);
  await answer(DONE);
  assert.deepEqual(
    taken[1]?.samples.map(({ atMs }) => atMs),
    [4, 5].map((index) => wireSample(index).atMs),
  );
});

test('a message times out and the newest sample goes next', async (t) => {
  const { sender, taken } = await meet(t, 20);
  sender.push(wireSample(0));
  while (taken.length < 1) await setImmediate();
  sender.push(wireSample(1));
  while (taken.length < 2) await setImmediate();
  assert.equal(taken[1]?.samples[0]?.atMs, wireSample(1).atMs);
});

test('control without a database counts as silent, control of an older version does not', async (t) => {
  const { sender, answer } = await meet(t);
  /** Whether control has answered since `sinceMs`, however long this process was delayed. */
  const hearsAfter = async (reply: ControlReply): Promise<boolean> => {
    await delay(5);
    const sinceMs = performance.now();
    sender.push(wireSample(0));
    await answer(reply);
    const { silentMs } = sender;
    return silentMs <= performance.now() - sinceMs;
  };
  assert.equal(await hearsAfter(DONE), true);
  assert.equal(await hearsAfter(unavailable), false);
  assert.equal(await hearsAfter(unsupported), true);
});

test('a malformed sample is not sent', async (t) => {
  const { sender, taken, answer, errors } = await meet(t);
  sender.push({ ...wireSample(0), durationMs: Number.NaN });
  sender.push(wireSample(1));
  await answer(DONE);
  assert.equal(errors.length, 1);
  assert.deepEqual(
    taken.map(({ samples }) => samples.length),
    [1],
  );
});
