import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { isCutOff } from '../../floods/cut-off.ts';
import { SERVER } from '../../stack/internet.ts';
import { require } from '../../requirements.ts';
import { AutonomousEdge } from './autonomous-edge.ts';
import { eventually } from '../stack-fixture.ts';

const SCOPE: WatchScope = {
  scope: '203.0.113.0/24',
  pps: 4_000,
  bps: 1_000_000_000,
  holdMs: 4_000,
  mitigation: 'on',
  safelist: [],
  subject: true,
};
const FLOOD_PPS = 12_000;
const ENDLESS_SECONDS = 180;
/** For which a flood goes on after the agent was started again: it counts by then on a busy machine too, and dates the end. */
const HELD_MS = 45_000;
/** A loaded machine reads counters late and loses samples. */
const DATED_MS = 3_000;
const LEAST_PEAK = 0.5;
/** A bucket whose counters are read a bucket late holds twice what was sent in it. */
const MOST_PEAK = 2;
const target = SERVER[4];

describe('an edge whose control plane is gone', () => {
  it('drops a flood in the kernel autonomously, also after kill -9, and reports it once', async (t) => {
    const fixture = await prepare(t);
    if (fixture === null) return;
    const arrived = fixture.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
    await fixture.loseControl();
    // Control does not see traffic from here on.
    await wait(4_000);
    // However long it takes until the edge acts: a busy machine is slow to.
    const over = new AbortController();
    t.after(() => over.abort());
    const flooding = fixture.flood('dns', target, FLOOD_PPS, ENDLESS_SECONDS, over.signal);
    flooding.catch(() => undefined);
    const begin = performance.now();
    await eventually('the flood arrives while it is not known', async () => arrived() > 0);
    const { client } = fixture.internet;
    await eventually('nothing arrives any more', () => isCutOff(client, 'eth0', arrived));
    const stoppedMs = performance.now() - begin;
    t.diagnostic(`${arrived()} packets arrived; none after ${stoppedMs.toFixed(0)} ms`);
    const leaked = arrived();

    await fixture.killEdge();
    fixture.startEdge();
    await wait(HELD_MS);
    over.abort();
    const report = await flooding;
    assert.equal(arrived(), leaked, 'what was done alone outlives the agent');
    t.diagnostic(`${leaked} of ${report.packets} arrived`);

    await fixture.comeControl();
    await eventually('control receives it', async () => fixture.reported.length > 0, 60_000);
    const [last, ...others] = fixture.reported;
    assert.deepEqual(others, [], 'one attack');
    assert.deepEqual([last?.subject, last?.type], [target, 'dns_amplification']);
    assert.ok(last?.actions.some(({ action }) => action.kind === 'reflector'));
    assert.ok(last !== undefined);
    const { peakPps, openedAtMs, mitigatedAtMs, startedAtMs, endedAtMs } = last;
    const openedMs = openedAtMs - report.beganAtMs;
    const mitigatedMs = (mitigatedAtMs ?? Number.NaN) - openedAtMs;
    const endMs = endedAtMs - report.endedAtMs;
    const peak = peakPps.value / report.peakPps;
    t.diagnostic(
      `opened after ${openedMs} ms, in the kernel ${mitigatedMs} ms later; peak ${peak.toFixed(2)} of what was sent, end ${endMs} ms off`,
    );
    assert.ok(openedMs >= -DATED_MS && mitigatedMs >= 0, `${openedMs} ms, ${mitigatedMs} ms`);
    assert.ok(Math.abs(startedAtMs - report.beganAtMs) <= DATED_MS);
    assert.ok(Math.abs(endMs) <= DATED_MS, `ended ${endMs} ms off`);
    assert.ok(peak >= LEAST_PEAK && peak <= MOST_PEAK, `a peak of ${peak} times what was sent`);

    await eventually('it is withdrawn', async () => {
      const before = arrived();
      await fixture.flood('dns', target, 100, 1);
      return arrived() > before;
    });
  });

  it('obeys the operator: observes, spares the safelist, or does nothing', async (t) => {
    const cases = [
      { scope: '203.0.113.10', mode: 'observe', change: { mitigation: 'observe' } },
      { scope: '203.0.113.20', mode: 'enforce', change: { safelist: ['11.0.0.0/8'] } },
      { scope: '203.0.113.30', mode: null, change: { mitigation: 'off' } },
    ] as const;
    const fixture = await prepare(
      t,
      cases.map(({ scope, change }) => ({ ...SCOPE, scope, ...change })),
    );
    if (fixture === null) return;
    fixture.internet.server.run('ip', 'address', 'add', '203.0.113.30/24', 'dev', 'eth0');
    const arrived = fixture.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
    await fixture.loseControl();
    await wait(4_000);
    let sent = 0;
    for (const { scope } of cases) {
      const { packets } = await fixture.flood('dns', scope, FLOOD_PPS, 3);
      sent += packets;
    }
    await fixture.comeControl();
    const reported = (scope: string) => fixture.reported.find(({ subject }) => subject === scope);
    await eventually('control receives all of them', async () =>
      cases.every(({ scope }) => reported(scope) !== undefined),
    );
    assert.equal(arrived(), sent);
    for (const { scope, mode } of cases) {
      const actions = reported(scope)?.actions ?? [];
      assert.equal(actions.length === 0, mode === null, scope);
      assert.ok(
        actions.every((one) => one.mode === mode),
        scope,
      );
    }
  });

  it('takes no autonomous action while control is connected', async (t) => {
    const fixture = await prepare(t);
    if (fixture === null) return;
    const arrived = fixture.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
    const { packets } = await fixture.flood('dns', target, FLOOD_PPS, 4);
    assert.equal(arrived(), packets);
    const samples = fixture.control.received.flatMap((one) =>
      one.kind === 'watch.samples' ? one.samples : [],
    );
    const counted = samples.flatMap(({ addresses }) => addresses);
    const sum = counted.reduce((all, one) => all + (one.subject === target ? one.packets : 0), 0);
    // A busy machine discards samples and follows the address later, however many; nothing is reported twice.
    assert.ok(sum <= packets && sum > 0, `${sum} of ${packets} were reported`);
    assert.deepEqual(fixture.reported, []);
  });
});

async function prepare(
  t: TestContext,
  scopes: readonly WatchScope[] = [SCOPE],
): Promise<AutonomousEdge | null> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf'])) return null;
  // This process also starts the edge, so a delay of one delays the other.
  setPriority(-10);
  const fixture = new AutonomousEdge('alone');
  t.after(() => fixture.destroy());
  fixture.control.scopes = [...scopes];
  fixture.control.watchVersion = 'w1';
  await fixture.comeControl();
  fixture.startEdge();
  await fixture.control.confirmed();
  await eventually('it asked what to watch', async () =>
    fixture.control.received.some((one) => one.kind === 'watch.samples'),
  );
  return fixture;
}
