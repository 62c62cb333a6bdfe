import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Change, DriverError } from '../nftables/driver.ts';
import type { Learned } from '../nftables/elements/learned-reader.ts';
import { createDeniedMemory, type Forgotten } from './denied-memory.ts';

const DAYS = 24 * 3_600;

function forgotten(protocol: number, secondsLeft: number, more: object = {}): Forgotten {
  const ports = protocol === 6 || protocol === 17 ? [4_000, 80] : [null, null];
  const flow = {
    family: 4 as const,
    source: '192.0.2.2',
    destination: '203.0.113.10',
    protocol,
    sourcePort: ports[0] ?? null,
    destinationPort: ports[1] ?? null,
    icmp: null,
    ...more,
  };
  return { flow, secondsLeft };
}

function table() {
  const written: Change[] = [];
  const added: Learned[] = [];
  const copy = (elements: readonly Learned[]) => void added.push(...elements);
  const driver = { change: async (change: Change) => void written.push(change) };
  return { written, added, copy, driver };
}

const keysOf = (change: Change | undefined): Record<string, string[]> =>
  Object.fromEntries(
    (change?.steps?.elements ?? []).map(({ map, added }) => [map, added.map(([key]) => key)]),
  );

test('records deleted connections for their remaining time in one transaction', async () => {
  const { written, added, copy, driver } = table();
  const flows = [
    forgotten(17, 30),
    forgotten(6, 5 * DAYS),
    forgotten(6, 9 * DAYS, { sourcePort: 4_001 }),
    forgotten(47, 100),
    // An echo reply opens no connection.
    forgotten(1, 30, { icmp: { type: 8, code: 0 } }),
    forgotten(17, 30, { family: 6, source: '2001:db8::1', destination: '2001:db8:5::10' }),
  ];
  assert.equal(await createDeniedMemory(driver, copy).keep(flows), true);
  assert.equal(written.length, 1);
  assert.deepEqual(keysOf(written[0]), {
    denied_flows4: [
      '192.0.2.2 . 4000 . 203.0.113.10 . 80 . udp timeout 600s',
      `192.0.2.2 . 4000 . 203.0.113.10 . 80 . tcp timeout ${5 * DAYS}s`,
      `192.0.2.2 . 4001 . 203.0.113.10 . 80 . tcp timeout ${5 * DAYS}s`,
    ],
    denied_pairs4: ['192.0.2.2 . 203.0.113.10 . gre timeout 600s'],
    denied_flows6: ['2001:db8::1 . 4000 . 2001:db8:5::10 . 80 . udp timeout 600s'],
  });
  // In case another program deletes the table.
  assert.equal(added.length, 5);
});

test('deletes no connection beyond the capacity of the table', async () => {
  const change = async (): Promise<void> => {
    throw new DriverError('refused', 'Too many open files in system');
  };
  assert.equal(await createDeniedMemory({ change }, () => {}).keep([forgotten(17, 30)]), false);
});
