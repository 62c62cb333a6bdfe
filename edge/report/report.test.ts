import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DropEntry } from '@portcullis/core/firewall/drops.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { EdgeDropReport } from '@portcullis/link/messages/edge.ts';
import { LinkError } from '@portcullis/link/transport/transport.ts';
import type { DropReading } from '@portcullis/dataplane/drops.ts';
import { NamedDevices } from '../host/devices.ts';
import { Reporter } from './report.ts';
import { ControlClient } from '../agent/control-client.ts';

const HOST = {
  localAddresses: () => [],
  devices: () => ['wan'],
  isUp: () => true,
  masterOf: () => null,
};
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const DONE: ControlReply = { kind: 'done' };
const UNSUPPORTED: ControlReply = { kind: 'refused', code: 'unsupported', detail: 'too old' };
const OWN = { policies: 1, elements: 2, lastError: null, lastApplyMs: 3, management: [] };

const dropped = (packets: number): DropEntry => ({
  target: '203.0.113.10',
  stage: 'policy',
  reason: 'denied',
  by: 'xdp',
  packets,
  bytes: packets * 60,
});

/** A reporter of a source with this number of drops per poll; `answer` is the reply of control. */
function reporting() {
  const received: EdgeDropReport[] = [];
  const world = {
    received,
    answer: (): ControlReply => DONE,
    source: async (): Promise<DropReading> => ({ entries: [dropped(5)], samples: [] }),
    nowMs: 1_000_000,
    xdp: 'native' as 'native' | 'none',
  };
  const link = {
    request: async (request: AgentRequest): Promise<ControlReply> => {
      assert.ok(request.kind === 'edge.drops');
      received.push(request);
      return world.answer();
    },
    onNotice() {},
    onCall() {},
    onConnect() {},
    onRefused() {},
    awayReason: null,
    close: async () => {},
  };
  const reporter = new Reporter({
    devices: new NamedDevices(HOST),
    control: new ControlClient(link, 'one'),
    facts: {
      drops: [{ name: 'the source', read: () => world.source() }],
      deviceModes: { modeOf: () => ({ xdp: world.xdp, reason: null }) },
    },
    log: SILENT,
    nowMs: () => world.nowMs,
  });
  const reported = () =>
    received.map(({ sequence, drops }) => [
      sequence,
      drops.entries.reduce((sum, one) => sum + one.packets, 0),
    ]);
  return { world, reporter, reported };
}

test('is behind when a device is not as it was reported', () => {
  const { world, reporter } = reporting();
  assert.equal(reporter.isBehind(['wan']), true);
  reporter.compose(['wan'], OWN);
  assert.equal(reporter.isBehind(['wan']), false);
  assert.equal(reporter.isBehind(['wan', 'lan']), true);
  world.xdp = 'none';
  assert.equal(reporter.isBehind(['wan']), true);
});

test('reports each poll once, and repeats unanswered reports unchanged', async () => {
  const { world, reporter, reported } = reporting();
  await reporter.sendDrops();
  world.answer = () => {
    throw new LinkError('timeout', 'nobody answers');
  };
  await assert.rejects(reporter.sendDrops(), { code: 'timeout' });
  await assert.rejects(reporter.sendDrops(), { code: 'timeout' });
  world.answer = () => DONE;
  await reporter.sendDrops();
  assert.deepEqual(reported(), [
    [1, 5],
    [2, 5],
    [2, 5],
    [2, 5],
    [3, 10],
  ]);
  assert.deepEqual(world.received[2]?.drops, world.received[1]?.drops);
});

test('sends nothing more to a control plane without drop reports until the next hello', async () => {
  const { world, reporter, reported } = reporting();
  world.answer = () => UNSUPPORTED;
  await reporter.sendDrops();
  await reporter.sendDrops();
  assert.equal(reported().length, 1);
  world.answer = () => DONE;
  reporter.greeted();
  await reporter.sendDrops();
  assert.deepEqual(reported(), [
    [1, 5],
    [1, 5],
  ]);
});

test('reports an unreadable source as a problem until it is readable', async () => {
  const { world, reporter } = reporting();
  const read = world.source;
  world.source = async () => {
    throw new Error('no such map');
  };
  await reporter.sendDrops();
  assert.deepEqual(reporter.compose(['wan'], OWN).problems, [
    'The drop counters of the source cannot be read: no such map.',
  ]);
  world.source = read;
  await reporter.sendDrops();
  assert.deepEqual(reporter.compose(['wan'], OWN).problems, []);
});

test('keeps drops by minute while control is away, and reports them when it is back', async () => {
  const { world, reporter, reported } = reporting();
  for (let minute = 0; minute < 3; minute += 1) {
    await Promise.all([reporter.collect(), reporter.collect()]);
    world.nowMs += 60_000;
  }
  await reporter.sendDrops();
  assert.deepEqual(reported(), [
    [1, 5],
    [2, 5],
    [3, 5],
    [4, 5],
  ]);
  const ends = world.received.map(({ drops }) => drops.untilMs - 1_000_000);
  assert.deepEqual(ends, [0, 60_000, 120_000, 180_000]);
});

test('never overlaps polls, however slow the source or control is', async () => {
  const { world, reporter, reported } = reporting();
  const gate = Promise.withResolvers<DropReading>();
  world.source = () => gate.promise;
  const slow = reporter.sendDrops();
  await reporter.sendDrops();
  gate.resolve({ entries: [dropped(7)], samples: [] });
  await slow;
  assert.deepEqual(reported(), [[1, 7]]);
});

test('sends a report without the parts that control would reject, and logs that', () => {
  const { reporter } = reporting();
  const report = reporter.compose(['wan%1'], { ...OWN, lastError: 'no room' });
  assert.deepEqual([report.devices, report.lastError], [[], 'no room']);
  assert.match(
    report.problems.join(),
    /cannot report more of itself: \/devices\/0\/name is not a device/,
  );
});
