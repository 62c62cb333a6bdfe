import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecord, type FlowRecord, unmapAddresses } from './flow-record.ts';
import { LINE, LineLimit } from './line.ts';

const record = (packets: number, bytes: number, durationMs = 0): FlowRecord => ({
  ...createRecord(),
  packets,
  bytes,
  durationMs,
});

describe('the limit of a line', () => {
  it('refuses a record of more packets or bits than any line carries, by its duration', () => {
    const admits = (one: FlowRecord): boolean => new LineLimit().admits(one, 0);
    assert.ok(admits(record(LINE.pps, LINE.pps * 64)));
    assert.ok(!admits(record(LINE.pps * 1.01, LINE.pps * 64)));
    assert.ok(admits(record(LINE.pps * 9, LINE.pps * 9 * 64, 10_000)));
    assert.ok(!admits(record(1e9, (LINE.bps / 8) * 1.01)));
    assert.ok(!admits(record(Number.MAX_VALUE, 0)));
    assert.ok(!admits(record(Number.POSITIVE_INFINITY, 0)));
    assert.ok(!admits(record(1, Number.NaN)));
  });

  it('refuses many packets that are shorter than their headers, and no few', () => {
    assert.ok(!new LineLimit().admits(record(0xcb00710a, 1), 0));
    assert.ok(!new LineLimit().admits(record(0xcb00710a, 0xc6336407), 0));
    // Not exported, or counted without headers.
    assert.ok(new LineLimit().admits(record(2e7, 0), 0));
    assert.ok(new LineLimit().admits(record(100_000, 100_000), 0));
  });

  it('adds up the records of one second, and goes on after what it refused', () => {
    const line = new LineLimit();
    const part = record(LINE.pps / 4, (LINE.pps / 4) * 64);
    const admitted = Array.from({ length: 10 }, () => line.admits(part, 500)).filter(Boolean);
    assert.equal(admitted.length, 4);
    assert.ok(!line.admits(record(1000, 100_000), 1400));
    assert.ok(line.admits(record(1000, 100_000), 1500));
  });
});

describe('IPv4-mapped addresses', () => {
  const unmapped = (
    source: readonly number[],
    destination: readonly number[],
  ): [number, number[], number[]] => {
    const one = { ...createRecord(), family: 6 as 4 | 6 };
    one.source.set(source);
    one.destination.set(destination);
    unmapAddresses(one);
    return [one.family, [...one.source], [...one.destination]];
  };

  it('become IPv4 addresses, also without a source', () => {
    const target = [0, 0, 0, 0xcb00710a];
    for (const mark of [0xffff, 0]) {
      assert.deepEqual(unmapped([0, 0, mark, 7], [0, 0, 0xffff, 0xcb00710a]), [
        4,
        [0, 0, 0, 7],
        target,
      ]);
    }
  });

  it('are nothing else', () => {
    const native = [0x20010db8, 0, 0, 1];
    const mapped = [0, 0, 0xffff, 1];
    for (const [source, destination] of [
      [native, native],
      [mapped, native],
      [native, mapped],
      [mapped, [0, 0, 0, 1]],
      [mapped, [0x64ff9b, 0, 0xffff, 1]],
    ] as const) {
      assert.deepEqual(unmapped(source, destination), [6, [...source], [...destination]]);
    }
  });
});
