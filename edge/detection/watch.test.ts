import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { createFakeCounters } from '@portcullis/dataplane/counters/fake.ts';
import { opening, testEdge } from '../testing/control.ts';
import { EdgeWatch } from './watch.ts';

const A = '203.0.113.10';
const SCOPE: WatchScope = {
  scope: '203.0.113.0/24',
  pps: 20_000,
  bps: 1e9,
  holdMs: 60_000,
  mitigation: 'on',
  safelist: [],
  subject: true,
};

/** A counting edge whose clock advances by a bucket every two milliseconds. */
function watchingEdge(t: TestContext) {
  const edge = testEdge(t);
  const lines: string[] = [];
  const log = {
    debug() {},
    info: (_: object, line: string) => void lines.push(line),
    warn() {},
    error() {},
  };
  const watching = () => {
    const counters = createFakeCounters();
    const link = edge.control.link.connect({ kind: 'edge', name: 'fra1' });
    const { stateDir } = edge;
    const watch = new EdgeWatch({ link, counters, stateDir, log, periodMs: 2 });
    return { counters, start: () => edge.start({ link, watch }), watch };
  };
  const samples = (): WatchSamples[] => edge.control.received.filter(isSamples);
  const until = async (hope: () => boolean): Promise<void> => {
    for (let tries = 0; !hope(); tries++) {
      assert.ok(tries < 6_000, `in vain: ${hope}`);
      await delay(5);
    }
  };
  return { ...edge, watching, samples, until, lines };
}
function isSamples(request: AgentRequest): request is WatchSamples {
  return request.kind === 'watch.samples';
}

test('an edge counts the scopes of control and reports busy subjects', async (t) => {
  const { control, watching, samples, until } = watchingEdge(t);
  control.scopes = [SCOPE];
  const { counters, start } = watching();
  counters.rates = {
    [A]: { pps: 12_000, vector: 'udp', prefix: SCOPE.scope },
    '203.0.113.11': { pps: 100, vector: 'udp', prefix: SCOPE.scope },
  };
  await start();
  await until(() => counters.watched.length === 1);
  assert.deepEqual(counters.watched, [SCOPE]);
  await until(() => samples().length > 8);
  const [last] = samples().at(-1)?.samples ?? [];
  assert.deepEqual(
    last?.addresses.map(({ subject, packets }) => [subject, packets]),
    [[A, 3_000]],
  );
  const evidence = samples().flatMap((message) => message.samples.flatMap(({ tops }) => tops));
  assert.equal(evidence[0]?.subject, A);
  control.watch([{ ...SCOPE, pps: 1_000_000 }], 'w1');
  await until(() => counters.watched[0]?.pps === 1_000_000);
  const before = samples().length;
  await until(() => samples().length > before + 2);
  assert.deepEqual(samples().at(-1)?.samples[0]?.addresses, []);
});

test('an edge that restarts without control keeps counting', async (t) => {
  const { control, watching, until } = watchingEdge(t);
  control.scopes = [SCOPE];
  const first = watching();
  const agent = await first.start();
  await until(() => first.counters.watched.length === 1);
  await agent.stop();
  assert.equal(first.counters.closed, true);
  await control.link.control.close();
  const second = watching();
  await second.start();
  await until(() => second.counters.watched.length === 1);
  assert.deepEqual(second.counters.watched, [SCOPE]);
});

test('an edge says that no packet to what it protects came in by its devices, until one does', async (t) => {
  const { control, watching, until } = watchingEdge(t);
  control.scopes = [SCOPE];
  const { counters, start, watch } = watching();
  counters.rates = {};
  await start();
  await until(() => counters.watched.length === 1);
  assert.deepEqual(watch.problems(), [], 'an edge that has just started does not know yet');
  await until(() => watch.problems().length === 1);
  assert.match(watch.problems()[0] ?? '', /^No packet .* since it started/);
  counters.rates = { [A]: { pps: 4, vector: 'udp', prefix: SCOPE.scope } };
  await until(() => watch.problems().length === 0);
});

test('failing or hanging counters are reported and delay no policy', async (t) => {
  const { control, kernel, watching, until } = watchingEdge(t);
  control.policies.set(A, opening(A, 443));
  const { counters, start, watch } = watching();
  counters.beforeRead = async () => {
    throw new Error('no such map');
  };
  await start();
  await control.confirmed();
  await until(() => watch.problems().length === 1);
  assert.match(watch.problems()[0] ?? '', /no such map/);
  const hanging = Promise.withResolvers<void>();
  counters.beforeRead = () => hanging.promise;
  control.change([opening(A, 80)]);
  await control.confirmed();
  assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 80`), 'accept');
  counters.beforeRead = async () => {};
  hanging.resolve();
  await until(() => watch.problems().length === 0);
});

test('control without samples gets its policies applied and confirmed', async (t) => {
  const { control, watching, samples, until } = watchingEdge(t);
  const { answer } = control;
  const detail = 'an old one';
  control.answer = (request) => {
    const reply = answer.call(control, request);
    return request.kind.startsWith('watch.')
      ? { kind: 'refused', code: 'unsupported', detail }
      : reply;
  };
  control.policies.set(A, opening(A, 443));
  const { start } = watching();
  await start();
  await control.confirmed();
  await until(() => samples().length > 2);
  control.change([opening(A, 80)]);
  await control.confirmed();
});

test('an attack on twenty thousand addresses delays no policy', async (t) => {
  const { control, kernel, watching, samples, until } = watchingEdge(t);
  control.scopes = [{ ...SCOPE, scope: '10.0.0.0/8' }];
  control.policies.set(A, opening(A, 443));
  const { counters, start } = watching();
  counters.rates = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [
      `10.1.${n >> 8}.${n & 255}`,
      { pps: 40_000, vector: 'udp', prefix: '10.0.0.0/8' } as const,
    ]),
  );
  await start();
  await control.confirmed();
  // The attacks are detected: from here on every bucket has its maximum cost.
  const reads = counters.reads + 8;
  await until(() => counters.reads > reads);
  const begin = performance.now();
  for (let port = 1; port <= 3; port++) {
    control.change([opening(A, port)]);
    await control.confirmed();
  }
  assert.ok(performance.now() - begin < 60_000);
  assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 3`), 'accept');
  await until(() => samples().length > 0);
});

test('an edge that was busy itself does not take control for away', async (t) => {
  const { control, watching, samples, until, lines } = watchingEdge(t);
  control.scopes = [SCOPE];
  const { start } = watching();
  await start();
  await until(() => samples().length > 3);
  const before = samples().length;
  // Longer than an answer may take.
  for (const end = performance.now() + 3_500; performance.now() < end; );
  await until(() => samples().length > before + 3);
  assert.deepEqual(
    lines.filter((line) => line.startsWith('control is away')),
    [],
  );
});
