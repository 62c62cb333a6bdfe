import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Mitigation } from '@portcullis/core/firewall/policy.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { CancelledAttack, OutageAttack } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { createFakeCounters } from '@portcullis/dataplane/counters/fake.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { EdgeWatch } from './watch.ts';

const A = '203.0.113.10';
const SCOPE: WatchScope = {
  scope: '203.0.113.0/24',
  pps: 20_000,
  bps: 1e9,
  holdMs: 10_000,
  mitigation: 'on',
  safelist: [],
  subject: true,
};
const DESIRED: Desired = {
  generation: 1,
  policies: new Map(),
  sourceSets: { version: '', sets: {} },
  settings: {
    name: 'fra1',
    site: 'fra',
    devices: [],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
  },
};
/** Longer than the response time of a loaded machine. */
const AWAY_MS = 1_000;
const FLOOD = { [A]: { pps: 100_000, vector: 'udp_dns', prefix: SCOPE.scope } } as const;

/** An edge whose clock advances by a bucket every two milliseconds, and a control plane that can be stopped. */
function autonomousEdge(
  t: TestContext,
  scope: WatchScope = SCOPE,
  cancelled: readonly CancelledAttack[] = [],
) {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-alone-'));
  const reported: OutageAttack[] = [];
  const handler = async (_: unknown, request: AgentRequest): Promise<ControlReply> => {
    if (request.kind === 'edge.attacks') reported.push(...request.attacks);
    if (request.kind !== 'detection.getSettings') return { kind: 'done' };
    const scopes = request.version === 'v1' ? null : [scope];
    return { kind: 'watch.settings', version: 'v1', scopes, cancelled, next: null };
  };
  const link = createMemoryLink(handler);
  let { control } = link;
  const running: EdgeWatch[] = [];
  const dead = Promise.withResolvers<void>();
  t.after(async () => {
    dead.resolve();
    for (const watch of running) await watch.stop();
    await control.close();
    rmSync(stateDir, { recursive: true });
  });
  let setMs = 0;
  const start = (desired = DESIRED) => {
    const counters = createFakeCounters();
    const side = link.connect({ kind: 'edge', name: 'fra1' });
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const watch = new EdgeWatch({
      link: side,
      counters,
      stateDir,
      log,
      periodMs: 2,
      awayMs: AWAY_MS,
      clock: () => new Date(Date.now() + setMs),
    });
    running.push(watch);
    side.onConnect(() => watch.greeted());
    /** The kernel state as an agent would write it. */
    const kernel: { mitigations: readonly Mitigation[]; applies: number } = {
      mitigations: [],
      applies: 0,
    };
    const apply = (): void => {
      const { policies } = watch.addOverlay(desired);
      kernel.mitigations = policies.get(A)?.mitigations ?? [];
      kernel.applies++;
      watch.applied([]);
    };
    watch.start({ instance: 'one', changed: apply });
    apply();
    return { watch, counters, kernel };
  };
  const until = async (hope: () => boolean): Promise<void> => {
    for (let tries = 0; !hope(); tries++) {
      assert.ok(tries < 6_000, `in vain: ${hope}`);
      await delay(5);
    }
  };
  return {
    reported,
    dead: dead.promise,
    start,
    until,
    lose: () => control.close(),
    come: () => void (control = link.serve(handler)),
    setClock: (byMs: number) => void (setMs += byMs),
  };
}

test('a flood while control is away is mitigated and reported once afterwards', async (t) => {
  const { reported, start, until, lose, come } = autonomousEdge(t);
  const { counters, kernel } = start();
  await until(() => counters.watched.length > 0);
  await lose();
  counters.rates = FLOOD;
  await until(() => kernel.mitigations.length > 0);
  assert.equal(kernel.mitigations[0]?.protocol, 'udp');
  // Several seconds, so that one of them contains only the flood.
  const reads = counters.reads + 12;
  await until(() => counters.reads > reads);
  counters.rates = {};
  await until(() => kernel.mitigations.length === 0);
  assert.equal(reported.length, 0);
  come();
  await until(() => reported.length > 0);
  await delay(100);
  assert.equal(reported.length, 1);
  const [attack] = reported;
  assert.deepEqual([attack?.subject, attack?.type], [A, 'udp_flood']);
  assert.ok(attack?.mitigatedAtMs !== null);
  assert.ok((attack?.mitigatedAtMs ?? 0) >= (attack?.openedAtMs ?? Infinity));
  assert.ok(attack?.actions.length);
  assert.ok(attack?.actions.every(({ mode, untilMs }) => mode === 'enforce' && untilMs !== null));
  assert.ok((attack?.peakPps.value ?? 0) > 90_000);
});

test('an edge mitigates nothing by itself while control answers', async (t) => {
  const { reported, start, until } = autonomousEdge(t);
  const { counters, kernel } = start();
  await until(() => counters.watched.length > 0);
  counters.rates = FLOOD;
  const reads = counters.reads + 100;
  await until(() => counters.reads > reads);
  assert.deepEqual([kernel.applies, kernel.mitigations, reported.length], [1, [], 0]);
});

test('a flood whose start control missed is reported, even after a short outage', async (t) => {
  const { reported, start, until, lose, come } = autonomousEdge(t);
  const { counters } = start();
  await until(() => counters.watched.length > 0);
  const passing = async (count: number): Promise<void> => {
    const reads = counters.reads + count;
    await until(() => counters.reads > reads);
  };
  await lose();
  counters.rates = FLOOD;
  await passing(10);
  come();
  counters.rates = {};
  await until(() => reported.length === 1);
  assert.deepEqual([reported[0]?.subject, reported[0]?.actions], [A, []]);
});

test('an attack that control saw start is mitigated when control goes away, and reported from then on', async (t) => {
  const { reported, start, until, lose, come } = autonomousEdge(t);
  const { counters, kernel } = start();
  await until(() => counters.watched.length > 0);
  counters.rates = FLOOD;
  // Longer than a detector dates an attack back.
  await delay(2_500);
  const reads = counters.reads + 30;
  await until(() => counters.reads > reads);
  await lose();
  await until(() => kernel.mitigations.length > 0);
  come();
  await until(() => reported.length === 1);
  assert.ok(reported[0]?.actions.length);
  counters.rates = {};
  await until(() => kernel.mitigations.length === 0);
});

test('a killed agent continues its mitigations as the same attack', async (t) => {
  const { reported, start, until, lose, come, dead } = autonomousEdge(t);
  const first = start();
  await until(() => first.counters.watched.length > 0);
  await lose();
  first.counters.rates = FLOOD;
  await until(() => first.kernel.mitigations.length > 0);
  // Killed without a shutdown: it reads nothing afterwards.
  first.counters.beforeRead = () => dead;
  const second = start();
  assert.deepEqual(second.kernel.mitigations, first.kernel.mitigations);
  second.counters.rates = FLOOD;
  const reads = second.counters.reads + 30;
  await until(() => second.counters.reads > reads);
  assert.deepEqual(second.kernel.mitigations, first.kernel.mitigations);
  come();
  await until(() => reported.length > 0);
  await delay(100);
  assert.equal(reported.length, 1);
});

test('a scope with mitigation off is counted and not mitigated', async (t) => {
  const { reported, start, until, lose, come } = autonomousEdge(t, { ...SCOPE, mitigation: 'off' });
  const { counters, kernel } = start();
  await until(() => counters.watched.length > 0);
  await lose();
  counters.rates = FLOOD;
  await delay(AWAY_MS * 1.5);
  come();
  await until(() => reported.length === 1);
  assert.deepEqual(
    [kernel.mitigations, reported[0]?.actions, reported[0]?.mitigatedAtMs],
    [[], [], null],
  );
});

test('a cancelled attack is not mitigated autonomously, also after a kill', async (t) => {
  const B = '203.0.113.11';
  const cancelled = [{ subject: A, startedAtMs: Date.now() - 1_000 }];
  const { start, until, lose, dead } = autonomousEdge(t, SCOPE, cancelled);
  const first = start();
  await until(() => first.counters.watched.length > 0);
  await lose();
  const both = { ...FLOOD, [B]: FLOOD[A] };
  first.counters.rates = both;
  await until(() => first.watch.addOverlay(DESIRED).policies.has(B));
  assert.equal(first.watch.addOverlay(DESIRED).policies.has(A), false);
  first.counters.beforeRead = () => dead;
  const second = start();
  second.counters.rates = both;
  const applies = second.kernel.applies;
  await delay(AWAY_MS * 1.5);
  const reads = second.counters.reads + 30;
  await until(() => second.counters.reads > reads);
  assert.deepEqual([second.kernel.mitigations, second.kernel.applies], [[], applies]);
});

test('a clock jump of a day neither opens nor closes an attack', async (t) => {
  const { reported, start, until, lose, come, setClock } = autonomousEdge(t);
  const { counters, kernel } = start();
  await until(() => counters.watched.length > 0);
  await lose();
  const passing = async (count: number): Promise<void> => {
    const reads = counters.reads + count;
    await until(() => counters.reads > reads);
  };
  for (const byMs of [86_400_000, -172_800_000]) {
    setClock(byMs);
    await passing(10);
  }
  assert.equal(kernel.applies, 1);
  counters.rates = FLOOD;
  await until(() => kernel.mitigations.length > 0);
  const { applies } = kernel;
  for (const byMs of [-86_400_000, 172_800_000]) {
    setClock(byMs);
    await passing(20);
  }
  assert.equal(kernel.applies, applies);
  counters.rates = {};
  await until(() => kernel.mitigations.length === 0);
  come();
  await until(() => reported.length > 0);
  await delay(50);
  assert.equal(reported.length, 1);
});
