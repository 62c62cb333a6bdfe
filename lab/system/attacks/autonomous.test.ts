import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import { isCutOff } from '../../floods/cut-off.ts';
import { Witness } from '../../floods/witness.ts';
import { SERVER } from '../../internet.ts';
import { require } from '../../requirements.ts';
import { AloneGround } from './autonomous-edge.ts';
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
const FLOOD_SECONDS = 14;
/** As of control: at three times a threshold, and from then on. */
const OPENED_MS = 1500;
const MITIGATED_MS = 1000;
const DATED_MS = 500;
const PEAK_ERROR = 0.05;
const target = SERVER[4];

describe('an edge whose control plane is gone', () => {
  it('drops a flood in the kernel by itself, also after kill -9, and tells of it once', async (t) => {
    const ground = await prepare(t);
    if (ground === null) return;
    const witness = new Witness();
    t.after(() => witness.stop());
    const arrived = ground.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
    await ground.loseControl();
    // What is seen from here on, control does not see.
    await wait(4_000);
    const flooding = ground.flood('dns', target, FLOOD_PPS, FLOOD_SECONDS);
    const begin = performance.now();
    await eventually('the flood arrives while it is not known', async () => arrived() > 0);
    const { client } = ground.internet;
    await eventually('nothing arrives any more', () => isCutOff(client, 'eth0', arrived));
    const stoppedMs = performance.now() - begin;
    t.diagnostic(`${arrived()} packets arrived; none after ${stoppedMs.toFixed(0)} ms`);
    const leaked = arrived();

    await ground.killEdge();
    ground.startEdge();
    const report = await flooding;
    assert.equal(arrived(), leaked, 'what was done alone outlives the agent');
    assert.ok(leaked < report.packets / 2, `${leaked} of ${report.packets}`);

    await ground.comeControl();
    await eventually(
      'control hears of the end',
      async () => ground.told.some(({ endedAtMs }) => endedAtMs !== null),
      60_000,
    );
    const [last] = ground.told.toReversed();
    assert.equal(new Set(ground.told.map(({ id }) => id)).size, 1, 'one attack');
    assert.ok(ground.told.length <= 2, 'told as ongoing and as ended at most');
    assert.deepEqual([last?.subject, last?.type], [target, 'dns_amplification']);
    assert.ok(last?.actions.some(({ action }) => action.kind === 'reflector'));
    assert.ok(last !== undefined);
    const { peakPps, openedAtMs, mitigatedAtMs, startedAtMs, endedAtMs } = last;
    const openedMs = openedAtMs - report.beganAtMs;
    const mitigatedMs = (mitigatedAtMs ?? Number.NaN) - openedAtMs;
    const endMs = (endedAtMs ?? Number.NaN) - report.endedAtMs;
    const error = Math.abs(peakPps.value / report.peakPps - 1);
    t.diagnostic(
      `opened after ${openedMs} ms, in the kernel ${mitigatedMs} ms later; peak off by ${(error * 100).toFixed(1)} %, end by ${endMs} ms`,
    );
    const stalledMs = witness.stalledMs(report.beganAtMs, openedAtMs + (mitigatedMs || 0));
    const times = `opened after ${openedMs} ms, in the kernel ${mitigatedMs} ms later; nobody ran for ${stalledMs} ms`;
    assert.ok(openedMs <= OPENED_MS + stalledMs && mitigatedMs <= MITIGATED_MS + stalledMs, times);
    assert.ok(Math.abs(startedAtMs - report.beganAtMs) <= DATED_MS);
    assert.ok(Math.abs(endMs) <= DATED_MS);
    assert.ok(error <= PEAK_ERROR, `a peak of ${peakPps.value}, sent were ${report.peakPps}`);

    await eventually('it is withdrawn', async () => {
      const before = arrived();
      await ground.flood('dns', target, 100, 1);
      return arrived() > before;
    });
  });

  const passing: Readonly<Record<string, Partial<WatchScope>>> = {
    'only marks what it would drop where the operator observes': { mitigation: 'observe' },
    'touches nobody on the safelist': { safelist: ['11.0.0.0/8'] },
    'does nothing where mitigation is off': { mitigation: 'off' },
  };
  for (const [what, scope] of Object.entries(passing)) {
    it(what, async (t) => {
      const ground = await prepare(t, scope);
      if (ground === null) return;
      const arrived = ground.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
      await ground.loseControl();
      await wait(4_000);
      const { packets } = await ground.flood('dns', target, FLOOD_PPS, 4);
      await ground.comeControl();
      await eventually('control hears of it', async () => ground.told.length > 0);
      assert.equal(arrived(), packets);
      const mode = scope.mitigation === 'observe' ? 'observe' : 'enforce';
      assert.ok(ground.told[0]?.actions.every((one) => one.mode === mode));
      assert.equal(ground.told[0]?.actions.length === 0, scope.mitigation === 'off');
    });
  }

  it('does nothing alone while control is there', async (t) => {
    const ground = await prepare(t);
    if (ground === null) return;
    const arrived = ground.countAtServer('udp sport 53 ip saddr 11.0.0.0/8');
    const { packets } = await ground.flood('dns', target, FLOOD_PPS, 4);
    assert.equal(arrived(), packets);
    const samples = ground.control.heard.flatMap((one) =>
      one.kind === 'watch.samples' ? one.samples : [],
    );
    const counted = samples.flatMap(({ addresses }) => addresses);
    const sum = counted.reduce((all, one) => all + (one.subject === target ? one.packets : 0), 0);
    // A slow machine throws samples away, and follows the address later; nothing is told twice.
    assert.ok(sum <= packets && sum > packets / 2, `${sum} of ${packets} were told`);
    assert.deepEqual(ground.told, []);
  });
});

async function prepare(
  t: TestContext,
  change: Partial<WatchScope> = {},
): Promise<AloneGround | null> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf'])) return null;
  // So is the edge, which this process starts: what keeps it waiting keeps the other waiting.
  setPriority(-10);
  const ground = new AloneGround('alone');
  t.after(() => ground.destroy());
  ground.control.scopes = [{ ...SCOPE, ...change }];
  ground.control.watchVersion = 'w1';
  await ground.comeControl();
  ground.startEdge();
  await ground.control.confirmed();
  await eventually('it asked what to watch', async () =>
    ground.control.heard.some((one) => one.kind === 'watch.samples'),
  );
  return ground;
}
