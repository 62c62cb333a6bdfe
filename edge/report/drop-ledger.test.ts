import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import { type EdgeDrops, MAX_PASSED_SAMPLES } from '@portcullis/link/messages/edge-report.ts';
import { DropLedger } from './drop-ledger.ts';

const MINUTE = 60_000;
const START = 1_000 * MINUTE;

const entry = (target: string, packets: number, reason = 'denied'): DropEntry => ({
  target,
  stage: 'policy',
  reason,
  by: 'xdp',
  packets,
  bytes: packets * 64,
});
const sample = (destination: string, source = '198.51.100.7'): DropSample => ({
  atMs: START,
  target: destination,
  stage: 'policy',
  reason: 'denied',
  by: 'xdp',
  source,
  destination,
  protocol: 17,
  sourcePort: 1,
  destinationPort: 2,
  length: 64,
  device: null,
});
const address = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;

function drain(ledger: DropLedger): EdgeDrops[] {
  const reports: EdgeDrops[] = [];
  for (let next = ledger.pending(); next !== null && reports.length < 1_000; ) {
    reports.push(next);
    ledger.settle();
    next = ledger.pending();
  }
  return reports;
}
const packets = (reports: readonly EdgeDrops[]): number =>
  reports.flatMap(({ entries }) => entries).reduce((sum, one) => sum + one.packets, 0);

test('adds the readings of a minute, repeats a report unchanged until acknowledged, and counts it once', () => {
  const ledger = new DropLedger(START);
  ledger.add([{ entries: [entry('10.0.0.1', 2)], samples: [] }], START + 1_000);
  ledger.add(
    [
      { entries: [entry('10.0.0.1', 3), entry('10.0.0.1', 1, 'geo')], samples: [] },
      { entries: [entry('10.0.0.2', 9)], samples: [sample('10.0.0.2')] },
    ],
    START + 2_000,
  );
  const first = ledger.pending();
  assert.deepEqual(first, {
    sinceMs: START,
    untilMs: START + 2_000,
    entries: [entry('10.0.0.2', 9), entry('10.0.0.1', 5), entry('10.0.0.1', 1, 'geo')],
    samples: [sample('10.0.0.2')],
  });
  ledger.add([{ entries: [entry('10.0.0.1', 7)], samples: [] }], START + 3_000);
  assert.equal(ledger.pending(), first);
  ledger.settle();
  const second = ledger.pending();
  assert.deepEqual(second?.entries, [entry('10.0.0.1', 7)]);
  // This report contains readings after the first report only.
  assert.deepEqual([second.sinceMs, second.untilMs], [START + 2_000, START + 3_000]);
  ledger.settle();
  assert.equal(ledger.pending(), null);
});

test('splits readings above the limit of a report, largest first, without loss or duplicates', () => {
  const ledger = new DropLedger(START);
  const entries = Array.from({ length: 2_500 }, (_, index) => entry(address(index), index + 1));
  ledger.add([{ entries, samples: [] }], START + 1);
  const reports = drain(ledger);
  assert.deepEqual(
    reports.map((report) => report.entries.length),
    [1_000, 1_000, 500],
  );
  assert.equal(reports[0]?.entries[0]?.packets, 2_500);
  assert.equal(packets(reports), (2_500 * 2_501) / 2);
});

test('keeps counts of hours without control in bounded memory, and reports what did not fit', () => {
  const ledger = new DropLedger(START);
  for (let minute = 1; minute <= 200; minute += 1) {
    ledger.add([{ entries: [entry('10.0.0.1', 1)], samples: [] }], START + minute * MINUTE);
  }
  const reports = drain(ledger);
  assert.ok(reports.length <= 60, String(reports.length));
  assert.equal(packets(reports), 200);
  assert.equal(reports[0]?.sinceMs, START);
  const many = Array.from({ length: 200_010 }, (_, index) => entry(address(index), 1));
  ledger.add([{ entries: many, samples: [] }], START + 300 * MINUTE);
  assert.equal(ledger.lostPackets, 10);
  assert.equal(packets(drain(ledger)), 200_000);
});

test('keeps capacity for samples of other addresses during a flood, and drops invalid addresses', () => {
  const ledger = new DropLedger(START);
  const flood = Array.from({ length: 500 }, () => sample('10.0.0.1'));
  ledger.add(
    [
      {
        entries: [],
        samples: [...flood, sample('10.0.0.2', '::ffff:192.0.2.1'), sample('10.0.0.3')],
      },
    ],
    START + 1,
  );
  const kept = drain(ledger).flatMap(({ samples }) => samples.map((one) => one.destination));
  assert.deepEqual(
    [kept.filter((one) => one === '10.0.0.1').length, kept.at(-1), kept.length],
    [20, '10.0.0.3', 21],
  );
});

test('makes no report with an end before its start when the clock is set back', () => {
  const ledger = new DropLedger(START);
  ledger.add([{ entries: [entry('10.0.0.1', 1)], samples: [] }], START - 5 * MINUTE);
  ledger.add([{ entries: [entry('10.0.0.1', 1)], samples: [] }], START - 4 * MINUTE);
  for (const { sinceMs, untilMs } of drain(ledger)) assert.ok(sinceMs <= untilMs);
});

test('omits entries that control would reject, and counts them as lost', () => {
  const ledger = new DropLedger(START);
  const wrong = [
    entry('10.0.0.300', 1),
    entry('10.0.0.1', 2, 'Not A Slug'),
    { ...entry('10.0.0.2', 4), bytes: -1 },
    { ...entry('10.0.0.3', 8), packets: 8.5 },
    { ...entry('10.0.0.4', 1), packets: Number.NaN },
  ];
  ledger.add([{ entries: [...wrong, entry('10.0.0.9', 16)], samples: [] }], START + 1);
  assert.deepEqual(ledger.pending()?.entries, [entry('10.0.0.9', 16)]);
  assert.equal(ledger.lostPackets, 1 + 2 + 4 + 8.5);
});

test('adds samples of what passed, in reports of a limited size, also without a drop', () => {
  const ledger = new DropLedger(START);
  const passing = (index: number, packets = 1): PassedSample => ({
    destination: '10.0.0.1',
    source: address(index),
    protocol: 17,
    destinationPort: 53,
    packets,
  });
  const many = Array.from({ length: MAX_PASSED_SAMPLES + 1 }, (_, index) => passing(index));
  ledger.add([{ entries: [], samples: [], passed: many }], START + 1_000);
  ledger.add([{ entries: [], samples: [], passed: [passing(0, 4)] }], START + 2_000);
  const reports = drain(ledger);
  assert.deepEqual(
    reports.map(({ passed = [] }) => passed.length),
    [MAX_PASSED_SAMPLES, 1],
  );
  assert.deepEqual(reports[0]?.passed?.[0], passing(0, 5));
  // Senders forge addresses.
  const forged = { ...passing(1), source: '::ffff:192.0.2.1' };
  ledger.add([{ entries: [], samples: [], passed: [forged, passing(2)] }], START + 3_000);
  assert.deepEqual(ledger.pending()?.passed, [passing(2)]);
});
