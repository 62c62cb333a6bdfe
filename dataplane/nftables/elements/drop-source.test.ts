import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Count, CounterReader } from './counter-reader.ts';
import { countedBeforeRewrite, difference, NftablesDrops, shareOut } from './drop-source.ts';
import { createFakeKernel } from '../fake.ts';

const A = '203.0.113.10';
const B = '2001:db8::1';
const count = (packets: number): Count => ({ packets, bytes: packets * 60 });

test('reports increments only, and treats a decreased counter as restarted', () => {
  const last = new Map([
    ['same', count(5)],
    ['more', count(5)],
    ['anew', count(5)],
    ['gone', count(5)],
  ]);
  const now = new Map([
    ['same', count(5)],
    ['more', count(8)],
    ['anew', count(2)],
    ['first', count(1)],
  ]);
  assert.deepEqual(
    [...difference(last, now)],
    [
      ['more', count(3)],
      ['anew', count(2)],
      ['first', count(1)],
    ],
  );
});

test('distributes drops without an address in proportion to the others, and keeps the sum', () => {
  const counted = new Map([
    [A, count(300)],
    [B, count(100)],
  ]);
  assert.deepEqual(
    [...shareOut(counted, count(4_000))],
    [
      [A, count(3_300)],
      [B, count(1_100)],
    ],
  );
  assert.equal(shareOut(counted, count(0)), counted);
  assert.deepEqual([...shareOut(new Map(), count(7))], []);
});

test('reports drops of observing mitigations as observed, with their share of drops without an address', async () => {
  const reader: CounterReader = {
    elements: async (set) => new Map(set === 'observed6' ? [[B, count(2_000)]] : []),
    chain: async (name) => count(name === 'observed' ? 6_000 : 0),
    close: () => {},
  };
  const { entries } = await new NftablesDrops(() => reader).read();
  assert.deepEqual(entries, [
    { target: B, stage: 'mitigations', reason: 'observed', by: 'nftables', ...count(8_000) },
  ]);
});

test('reports an interrupted read once with the next one', async () => {
  let disturbed = false;
  let packets = 10;
  const reader: CounterReader = {
    elements: async (set) => {
      if (disturbed) return null;
      return new Map(set === 'dropped_denied4' ? [[A, count(packets)]] : []);
    },
    chain: async () => count(0),
    close: () => {},
  };
  const drops = new NftablesDrops(() => reader);
  const reported = async () => (await drops.read()).entries.map((one) => [one.reason, one.packets]);
  assert.deepEqual(await reported(), [['denied', 10]]);
  packets = 15;
  disturbed = true;
  assert.deepEqual(await reported(), []);
  disturbed = false;
  packets = 17;
  assert.deepEqual(await reported(), [['denied', 7]]);
  assert.deepEqual(await reported(), []);
});

test('counts every drop once when the table is replaced', async () => {
  const kernel = createFakeKernel();
  let packets = 10;
  const reader: CounterReader = {
    elements: async (set) =>
      new Map(set === 'dropped_geo6' && packets > 0 ? [[B, count(packets)]] : []),
    chain: async () => count(0),
    close: () => {},
  };
  const drops = new NftablesDrops(() => reader);
  const driver = countedBeforeRewrite(
    {
      ...kernel,
      apply: async (text) => {
        await kernel.apply(text);
        if (text.includes('delete table')) packets = 0;
      },
    },
    drops,
  );
  const reported = async () => (await drops.read()).entries.map((one) => one.packets);
  assert.deepEqual(await reported(), [10]);
  packets = 14;
  await driver.apply(
    'add table inet portcullis\ndelete table inet portcullis\ntable inet portcullis {\n}',
  );
  // More than before the rewrite, all from after it.
  packets = 30;
  assert.deepEqual(await reported(), [4, 30]);
  packets = 31;
  const both = await Promise.all([drops.read(), drops.read()]);
  assert.deepEqual(
    both.map(({ entries }) => entries.length),
    [1, 0],
  );
});

test('counts every drop once when the table is rewritten in place', async () => {
  let [byAddress, byRule] = [10, 10];
  const reader: CounterReader = {
    elements: async (set) => new Map(set === 'dropped_geo6' ? [[B, count(byAddress)]] : []),
    chain: async (name) => count(name === 'dropped_geo' ? byRule : 0),
    close: () => {},
  };
  const drops = new NftablesDrops(() => reader);
  const packets = async () => (await drops.read()).entries.map((one) => one.packets);
  const apply = async (): Promise<void> => void (byRule = 0);
  const driver = countedBeforeRewrite({ ...createFakeKernel(), apply }, drops);
  assert.deepEqual(await packets(), [20]);
  await driver.apply('add table inet portcullis\nflush table inet portcullis\n');
  [byAddress, byRule] = [14, 12];
  assert.deepEqual(await packets(), [16]);
});
