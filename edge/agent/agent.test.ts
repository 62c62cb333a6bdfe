import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createMachineClock } from '../switch/machine-clock.ts';
import { edgeOff, edgeOn } from '../switch/switch-files.ts';
import { opening, testEdge } from '../testing/control.ts';
import { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';
import { createFakeEarlyDrop } from '@portcullis/dataplane/xdp/driver/fake.ts';

const A = '203.0.113.10';
const B = '203.0.113.20';
const C = '203.0.113.30';

describe('an edge agent', () => {
  it('writes nothing before the first whole sync, then one transaction, then confirms it', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    kernel.beforeApply = async () => assert.deepEqual(control.confirms(), []);
    await start();
    const confirm = await control.confirmed();
    assert.deepEqual(confirm.refused, []);
    assert.equal(kernel.applied.length, 1);
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 443`), 'accept');
    assert.deepEqual(
      control.received.map(({ kind }) => kind).filter((kind) => kind !== 'edge.heartbeat'),
      ['edge.hello', 'edge.sync', 'edge.confirm'],
    );
  });

  it('applies a change as a delta of that change', async (t) => {
    const { control, kernel, start } = testEdge(t);
    for (const target of [A, B]) control.policies.set(target, opening(target, 443));
    await start();
    await control.confirmed();
    control.change([opening(A, 80)]);
    await control.confirmed();
    assert.doesNotMatch(kernel.applied[1] ?? '', /203\.0\.113\.20|(?:delete|flush) table/);
    assert.equal(kernel.elements()?.has(`port4 ${A} . tcp . 443`), false);
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 80`), 'accept');
    control.change([], [A]);
    await control.confirmed();
    assert.deepEqual(
      [...(kernel.elements()?.keys() ?? [])].filter((key) => key.includes(A)),
      [],
    );
  });

  it('applies the changes that come with a notice, without a sync', async (t) => {
    const { control, kernel, start } = testEdge(t);
    for (const target of [A, B]) control.policies.set(target, opening(target, 443));
    await start();
    await control.confirmed();
    control.send([opening(A, 80)], [B]);
    await control.confirmed();
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 80`), 'accept');
    assert.equal(kernel.elements()?.has(`port4 ${B} . tcp . 443`), false);
    assert.equal(control.received.filter(({ kind }) => kind === 'edge.sync').length, 1);
  });

  it('fetches by a sync what it lacks before the changes of a notice', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    control.lose([opening(B, 53)]);
    control.send([opening(C, 80)], []);
    await control.confirmed();
    assert.equal(kernel.elements()?.get(`port4 ${B} . tcp . 53`), 'accept');
    assert.equal(kernel.elements()?.get(`port4 ${C} . tcp . 80`), 'accept');
    assert.equal(control.received.filter(({ kind }) => kind === 'edge.sync').length, 2);
  });

  it('applies the changes that arrive during a sync after it, without another sync', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    const syncs = (): number => control.received.filter(({ kind }) => kind === 'edge.sync').length;
    const answered = Promise.withResolvers<void>();
    control.answersSyncs = answered.promise;
    const asked = control.next((request) => request.kind === 'edge.sync');
    control.change([opening(A, 1)]);
    await asked;
    control.send([opening(B, 53)], []);
    control.send([opening(A, 2)], []);
    control.send([], [B]);
    await control.noticed();
    answered.resolve();
    await control.confirmed();
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 2`), 'accept');
    assert.equal(kernel.elements()?.has(`port4 ${B} . tcp . 53`), false);
    assert.equal(syncs(), 2);
  });

  it('fetches what it missed when changes that arrived during a sync do not fit it', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    const answered = Promise.withResolvers<void>();
    control.answersSyncs = answered.promise;
    const asked = control.next((request) => request.kind === 'edge.sync');
    control.change([opening(A, 1)]);
    await asked;
    control.lose([opening(B, 53)]);
    control.send([opening(C, 80)], []);
    await control.noticed();
    answered.resolve();
    await control.confirmed();
    assert.equal(kernel.elements()?.get(`port4 ${B} . tcp . 53`), 'accept');
    assert.equal(kernel.elements()?.get(`port4 ${C} . tcp . 80`), 'accept');
  });

  it('merges all syncs that arrive during an apply', async (t) => {
    const { control, kernel, start } = testEdge(t);
    await start();
    await control.confirmed();
    const held = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    kernel.beforeApply = () => {
      started.resolve();
      return held.promise;
    };
    control.change([opening(A, 1)]);
    await started.promise;
    for (let port = 2; port <= 20; port++) {
      // Before the change: an idle agent requests it at once.
      const synced = control.next((request) => request.kind === 'edge.sync');
      control.change([opening(A, port)]);
      await synced;
    }
    held.resolve();
    await control.confirmed();
    assert.equal(kernel.applied.length, 3);
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 20`), 'accept');
  });

  it('keeps the last good policy of a refused target and applies all others', async (t) => {
    const { control, kernel, start } = testEdge(t);
    for (const target of [A, B, C]) control.policies.set(target, opening(target, 443));
    await start();
    await control.confirmed();
    kernel.refuse = (text) => (text.includes(`${B} . tcp . 80 `) ? 'no memory' : null);
    control.change([A, B, C].map((target) => opening(target, 80)));
    const { refused } = await control.confirmed();
    assert.deepEqual(refused, [{ target: B, reason: 'no memory', goodGeneration: 1 }]);
    const ports = [A, B, C].map((target) =>
      [80, 443].filter((port) => kernel.elements()?.has(`port4 ${target} . tcp . ${port}`)),
    );
    assert.deepEqual(ports, [[80], [443], [80]]);
    kernel.refuse = () => null;
    control.change([opening(B, 81)]);
    assert.deepEqual((await control.confirmed()).refused, []);
  });

  it('keeps the last good policy of a target with an invalid policy', async (t) => {
    const { control, start } = testEdge(t);
    const bad = {
      ...opening(A, 443),
      rules: [{ ref: 'rule:9', action: 'allow', protocol: 'icmp', port: 1, source: null } as const],
    };
    control.policies.set(A, bad);
    control.policies.set(B, opening(B, 443));
    await start();
    const { refused } = await control.confirmed();
    assert.deepEqual(
      refused.map(({ target, goodGeneration }) => [target, goodGeneration]),
      [[A, 0]],
    );
  });

  it('confirms nothing and keeps the old table when the kernel refuses everything', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const agent = await start();
    await control.confirmed();
    const before = kernel.elements();
    kernel.refuse = () => 'no';
    control.change([opening(A, 80)]);
    await control.next(
      (request) => request.kind === 'edge.heartbeat' && request.report.lastError === 'no',
    );
    assert.equal(kernel.elements(), before);
    assert.equal(agent.status().generation, 1);
    assert.equal(control.confirms().at(-1)?.generation, 1);
  });

  it('removes the early drop of an earlier agent when it only observes', async (t) => {
    const { start } = testEdge(t);
    const driver = createFakeEarlyDrop();
    driver.attach(7);
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const earlyDrop = new EarlyDrop({
      driver,
      readDevice: () => null,
      deviceName: () => null,
      listDevices: () => [],
      openFlows: async () => true,
      remember: () => ({ tcp: 1, udp: 1, other: 1 }),
      forwarding: null,
      log,
    });
    await start({ mode: 'observe', earlyDrop });
    assert.deepEqual(driver.devices(), []);
  });

  it('rewrites the table in one transaction after a restart with no memory', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const first = await start();
    await control.confirmed();
    await first.stop();
    rmSync(join(stateDir, 'enforced'), { recursive: true });
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
    control.received.length = 0;
    await start();
    await control.confirmed();
    const [, whole, ...others] = kernel.applied;
    assert.match(whole ?? '', /^add table inet portcullis\nflush table inet portcullis\n/);
    assert.deepEqual(others, []);
  });

  it('keeps enforcing while control is away and catches up later', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    await control.link.control.close();
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
    control.policies.set(A, opening(A, 80));
    control.generation = 9;
    control.refuseNext = { kind: 'refused', code: 'resync', detail: 'begin again' };
    const again = control.link.serve(async (_, request) => control.answer(request));
    await control.confirmed(9);
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 80`), 'accept');
    await again.close();
  });

  it('restores the table after another program flushed it', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    await kernel.remove();
    control.change([opening(B, 443)]);
    await control.confirmed();
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
  });

  it('observes and confirms nothing unless requested and able to enforce', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    kernel.lack = 'changing the packet filter needs root';
    const unable = await start();
    assert.deepEqual([unable.status().mode, unable.status().reason], ['observe', kernel.lack]);
    await unable.stop();
    kernel.lack = null;
    const unasked = await start({ mode: 'observe' });
    assert.deepEqual([unasked.status().mode, unasked.status().reason], ['observe', null]);
    await control.next((request) => request.kind === 'edge.heartbeat' && request.generation === 1);
    assert.deepEqual(control.confirms(), []);
    assert.equal(kernel.elements(), null);
  });

  it('is disabled and enabled by its markers, across restarts', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const agent = await start();
    await control.confirmed();
    edgeOff(stateDir, 'maintenance');
    await control.next(
      (request) => request.kind === 'edge.heartbeat' && request.mode === 'observe',
    );
    assert.equal(kernel.elements(), null);
    assert.equal(agent.status().reason, 'maintenance');
    await agent.stop();
    const restarted = await start();
    assert.equal(restarted.status().mode, 'observe');
    control.received.length = 0;
    edgeOn(stateDir, createMachineClock());
    await control.confirmed();
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
  });

  it('rewrites its table after off and on between two polls', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    await control.next((request) => request.kind === 'edge.heartbeat');
    const written = Promise.withResolvers<void>();
    kernel.beforeApply = async () => written.resolve();
    edgeOff(stateDir);
    await kernel.remove();
    edgeOn(stateDir, createMachineClock());
    await written.promise;
    await control.next((request) => request.kind === 'edge.heartbeat');
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
  });

  it('confirms nothing without a device, keeps its table, and confirms again when one is there', async (t) => {
    const { control, kernel, devices, start } = testEdge(t);
    devices.clear();
    control.policies.set(A, opening(A, 443));
    const agent = await start();
    const hello = (mode: string) =>
      control.next((request) => request.kind === 'edge.hello' && request.mode === mode);
    await hello('no_device');
    await control.next((request) => request.kind === 'edge.heartbeat' && request.generation === 1);
    assert.deepEqual(control.confirms(), []);
    assert.ok(kernel.elements()?.has(`address4 ${A}`), 'the device may come at any time');
    assert.equal(agent.status().mode, 'no_device');
    assert.match(agent.status().reason ?? '', /wan \(there is no such device on this host\)/);

    devices.add('wan');
    await hello('enforce');
    await control.confirmed();
    await control.next((request) => request.kind === 'edge.heartbeat' && request.generation === 1);

    devices.clear();
    await hello('no_device');
    const before = control.confirms().length;
    control.change([opening(A, 80)]);
    await control.next((request) => request.kind === 'edge.heartbeat' && request.generation === 2);
    assert.equal(control.confirms().length, before);
    devices.add('wan');
    await control.confirmed(2);
  });

  it('says so at its start, of the devices that it knows from disk', async (t) => {
    const { control, devices, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const first = await start();
    await control.confirmed();
    await first.stop();
    devices.clear();
    const again = await start();
    assert.equal(again.status().mode, 'no_device');
  });
});
