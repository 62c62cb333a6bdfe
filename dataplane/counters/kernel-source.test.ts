import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { frameOf, udpPacket } from '../testing/frames.ts';
import { FakeCounterDriver } from './fake-driver.ts';
import { KernelCounterSource } from './kernel-source.ts';

const [ONE, TWO, NET] = ['203.0.113.1', '203.0.113.2', '203.0.113.0/24'] as const;
const PPS = 400;
const THRESHOLDS = { pps: PPS, bps: 1e9, holdMs: 5_000 };

function scope(name: string, subject = true, pps = PPS): WatchScope {
  const mitigation = 'off';
  return { ...THRESHOLDS, scope: name, pps, mitigation, safelist: [], subject };
}

/** A source over fake drivers whose clock advances by a bucket per reading. */
async function setUp(...scopes: WatchScope[]) {
  let nowMs = 0;
  const drivers = { xdp: new FakeCounterDriver(), nftables: new FakeCounterDriver() };
  const able = { xdp: true, nftables: true };
  const places = (['xdp', 'nftables'] as const).map((mode) => ({
    mode,
    driver: () => (able[mode] ? drivers[mode] : null),
  }));
  const source = new KernelCounterSource(places, () => nowMs);
  source.enter(['wan'], false);
  await source.watch(scopes);
  const send = (to: string, packets: number, sourcePort = 40_000): void => {
    const frame = frameOf(udpPacket('198.51.100.7', to, 9, sourcePort));
    const driver = able.xdp ? drivers.xdp : drivers.nftables;
    for (let sent = 0; sent < packets; sent++) driver.count(frame);
  };
  const read = (): Promise<Sample> => {
    nowMs += BUCKET_MS;
    return source.read(1_000_000 + nowMs);
  };
  return { source, send, read, able };
}

for (const [times, withinMs] of [
  [1.2, 3000],
  [2, 1500],
  [10, 1500],
] as const) {
  test(`detects a sudden flood of ${times} times the threshold with its vector within ${withinMs} ms`, async () => {
    const { send, read } = await setUp(scope(NET));
    let state = INITIAL;
    const events: AttackEvent[] = [];
    let passedMs = 0;
    while (events.length === 0 && passedMs <= withinMs) {
      send(ONE, (PPS * times * BUCKET_MS) / 1000, 53);
      const settings = { thresholdsOf: () => THRESHOLDS, maxSubjects: 100 };
      const stepped = step(state, await read(), settings);
      ({ state } = stepped);
      events.push(...stepped.events);
      passedMs += BUCKET_MS;
    }
    assert.deepEqual(
      events.map(({ kind, attack }) => [kind, attack.subject, attack.type]),
      [['opened', ONE, 'udp_flood']],
    );
    assert.ok(passedMs <= withinMs, `${passedMs}`);
  });
}

test('counts the traffic of all addresses for their network, whether or not they are counted separately', async () => {
  const { send, read } = await setUp(scope(NET));
  for (const packets of [100, 80, 60]) {
    send(ONE, packets);
    send(TWO, 1);
    const { prefixes, durationMs } = await read();
    assert.deepEqual(
      prefixes.map(({ subject, packets: counted }) => [subject, counted]),
      [[NET, packets + 1]],
    );
    assert.equal(durationMs, BUCKET_MS);
  }
  send(ONE, 50);
  const { addresses, prefixes } = await read();
  assert.deepEqual(
    addresses.map(({ subject, prefix, packets, vectors }) => [
      subject,
      prefix,
      packets,
      vectors.length,
    ]),
    [[ONE, NET, 50, 1]],
  );
  assert.equal(prefixes[0]?.vectors[0]?.vector, VECTOR_INDEX.udp);
});

test('counts an address with its own scope exactly from its first packet, and in no network', async () => {
  const { send, read } = await setUp(scope(ONE), scope('203.0.112.0/23', false));
  send(ONE, 2);
  send(TWO, 100);
  const { addresses, prefixes } = await read();
  assert.deepEqual(
    addresses.map(({ subject, prefix, packets }) => [subject, prefix, packets]),
    [[ONE, null, 2]],
  );
  assert.deepEqual(prefixes, []);
});

test('uses the thresholds of the nearest scope', async () => {
  const { send, read } = await setUp(scope(NET), scope(ONE, false, PPS * 1000));
  for (let bucket = 0; bucket < 3; bucket++) {
    send(ONE, 40);
    send(TWO, 40);
    await read();
  }
  send(ONE, 40);
  send(TWO, 40);
  assert.deepEqual(
    (await read()).addresses.map(({ subject }) => subject),
    [TWO],
  );
});

test('switches to the next driver when the first one fails, and counts nothing twice', async () => {
  const { source, send, read, able } = await setUp(scope(NET));
  assert.equal(source.mode(), 'xdp');
  send(ONE, 10);
  assert.equal((await read()).prefixes[0]?.packets, 10);
  able.xdp = false;
  await read();
  assert.equal(source.mode(), 'nftables');
  send(ONE, 20);
  assert.equal((await read()).prefixes[0]?.packets, 20);
  able.nftables = false;
  const { addresses, prefixes } = await read();
  assert.deepEqual([source.mode(), addresses, prefixes], ['none', [], []]);
  able.xdp = true;
  await read();
  send(ONE, 30);
  assert.equal((await read()).prefixes[0]?.packets, 30);
});
