import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeKernel } from '../nftables/fake.ts';
import { FilterDrops } from './drops.ts';
import { readFilterCounters } from './counters.ts';

type Counted = readonly [key: readonly (string | number)[], packets: number, bytes: number];

function setOf(counted: readonly Counted[]): string {
  const elem = counted.map(([concat, packets, bytes]) => ({
    elem: { val: { concat }, expires: 3000, counter: { packets, bytes } },
  }));
  return JSON.stringify({ nftables: [{ metainfo: {} }, { set: { name: 'filtered4', elem } }] });
}

function kernelWith(sets: Record<string, readonly Counted[]>) {
  return {
    ...createFakeKernel(),
    list: async (set: string) => setOf(sets[set] ?? []),
    present: async () => true,
  };
}

test('reads address, port and reason of counters in every protocol notation of nft', async () => {
  const kernel = kernelWith({
    filtered4: [
      [['203.0.113.10', 'udp', 27015, 2], 5, 500],
      [['203.0.113.10', 17, 27015, 3], 7, 700],
    ],
    filtered6: [[['2001:db8:5::10', 'tcp', 80, 7], 1, 60]],
  });
  assert.deepEqual(
    (await readFilterCounters(kernel)).map(({ target, protocol, port, reason, packets, bytes }) =>
      [target, protocol, port, reason, packets, bytes].join(' '),
    ),
    [
      '203.0.113.10 17 27015 unvalidated-rate 5 500',
      '203.0.113.10 17 27015 budget 7 700',
      '2001:db8:5::10 6 80 connection-limit 1 60',
    ],
  );
});

test('counts forged handshakes with the other drops of the SYN proxy', async () => {
  const kernel = kernelWith({
    filtered4: [
      [['203.0.113.10', 'tcp', 80, 5], 10, 400],
      [['203.0.113.10', 'tcp', 80, 100], 100, 5000],
      [['203.0.113.10', 'tcp', 80, 101], 60, 3600],
      [['203.0.113.11', 'tcp', 80, 100], 3, 150],
      [['203.0.113.11', 'tcp', 80, 101], 3, 180],
    ],
  });
  assert.deepEqual(await readFilterCounters(kernel), [
    {
      target: '203.0.113.10',
      protocol: 6,
      port: 80,
      reason: 'syn-proxy-invalid',
      packets: 50,
      bytes: 2400,
    },
    ...[10, 11].map((host) => ({
      target: `203.0.113.${host}`,
      protocol: 6,
      port: 80,
      reason: 'validated',
      packets: host === 10 ? 60 : 3,
      bytes: host === 10 ? 3600 : 180,
    })),
  ]);
});

test('reports drops once by address and reason, and restarted counters completely', async () => {
  const sets: Record<string, readonly Counted[]> = {
    filtered4: [[['203.0.113.10', 'udp', 1, 2], 100, 1000]],
  };
  const drops = new FilterDrops(kernelWith(sets));
  const read = async (): Promise<unknown[]> =>
    (await drops.read()).entries.map(({ target, reason, packets, bytes }) => [
      target,
      reason,
      packets,
      bytes,
    ]);
  assert.deepEqual(await read(), [], 'an agent before may have reported these');
  await drops.begin();
  assert.deepEqual(await read(), []);
  sets['filtered4'] = [
    [['203.0.113.10', 'udp', 1, 2], 130, 1300],
    [['203.0.113.10', 'udp', 2, 2], 5, 50],
  ];
  assert.deepEqual(await read(), [['203.0.113.10', 'unvalidated-rate', 35, 350]]);
  sets['filtered4'] = [[['203.0.113.10', 'udp', 1, 2], 4, 40]];
  assert.deepEqual(await read(), [['203.0.113.10', 'unvalidated-rate', 4, 40]]);
});
