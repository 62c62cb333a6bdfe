import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Attack, AttackEvent } from '../attack.ts';
import { PREFIX, sampleOf } from '../testing/samples.ts';
import { type DetectorState, INITIAL, step } from './detector.ts';

const SECOND = 4;
const host = (index: number): string => `203.0.113.${1 + index}`;
const USUAL = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [host(index), 50]));

/** A minute of usual traffic, then the given rates of each second added to it. */
function play(
  seconds: readonly Readonly<Record<string, number>>[],
  { prefixPps = 20_000, holdMs = 10_000 } = {},
): { readonly events: readonly AttackEvent[]; readonly records: readonly Attack[] } {
  const thresholdsOf = (subject: string) => ({
    pps: subject === PREFIX ? prefixPps : 20_000,
    bps: 1e10,
    holdMs,
  });
  let state: DetectorState = INITIAL;
  const events: AttackEvent[] = [];
  const records = new Map<string, Attack>();
  const usualMinute = Array.from({ length: 60 }, () => ({}));
  let index = 0;
  for (const rates of [...usualMinute, ...seconds]) {
    for (let bucket = 0; bucket < SECOND; bucket++) {
      const sample = sampleOf(index++, { ...USUAL, ...rates });
      const stepped = step(state, sample, { thresholdsOf, maxSubjects: 500 });
      ({ state } = stepped);
      events.push(...stepped.events);
      for (const { attack, partOf } of stepped.events) {
        if (partOf === null) records.set(attack.id, attack);
        else records.delete(attack.id);
      }
    }
  }
  return { events, records: [...records.values()] };
}

const quiet = (seconds: number) => Array.from({ length: seconds }, () => ({}));
/** Each second to another address. */
const moving = (seconds: number, pps: number) =>
  Array.from({ length: seconds }, (_, second) => ({ [host(second % 200)]: pps }));

describe('an attack that moves from address to address', () => {
  it('is one record of the prefix, from the first address on', () => {
    const { events, records } = play([...moving(120, 60_000), ...quiet(20)]);
    const [record, ...others] = records;
    assert.deepEqual(others, []);
    assert.deepEqual([record?.subject, record?.type], [PREFIX, 'udp_flood']);
    const [first] = events;
    assert.ok(first?.attack.subject === host(0));
    assert.equal(record?.startedAtMs, first.attack.startedAtMs);
    assert.ok(Math.abs((record?.peakPps.value ?? 0) - 62_000) < 1_500);
    const lastedMs = (record?.endedAtMs ?? 0) - (record?.startedAtMs ?? 0);
    assert.ok(Math.abs(lastedMs - 120_000) <= 1_500, String(lastedMs));
    // A mitigation of each that was opened before, and one of the prefix.
    assert.ok(events.filter(({ kind }) => kind === 'opened').length <= 5);
  });

  it('is one record also where the prefix may get far more than an address', () => {
    const { records } = play([...moving(120, 60_000), ...quiet(20)], { prefixPps: 500_000 });
    assert.deepEqual(
      records.map(({ subject, endedAtMs }) => [subject, endedAtMs === null]),
      [[PREFIX, false]],
    );
  });

  it('is the same record when it comes back', () => {
    const { records } = play([...moving(20, 60_000), ...quiet(30), ...moving(20, 60_000)]);
    const record = records.find(({ subject }) => subject === PREFIX);
    assert.deepEqual([records.length, record?.endedAtMs], [1, null]);
  });

  it('makes no record of the prefix from two addresses, or from several at the same time', () => {
    const two = [...moving(2, 60_000), ...quiet(20)];
    const both = { [host(1)]: 60_000, [host(2)]: 60_000, [host(3)]: 60_000 };
    const together = [...Array.from({ length: 10 }, () => both), ...quiet(20)];
    const changing = [
      ...Array.from({ length: 10 }, () => both),
      ...Array.from({ length: 5 }, () => ({ [host(1)]: 60_000 })),
      ...quiet(20),
    ];
    for (const seconds of [two, together, changing]) {
      const { records } = play(seconds);
      assert.ok(records.every(({ subject }) => subject !== PREFIX));
    }
  });

  it('leaves attacks alone that are further apart than the hold time', () => {
    const apart = [0, 1, 2, 3].flatMap((index) => [{ [host(index)]: 60_000 }, ...quiet(14)]);
    const { records } = play(apart);
    assert.equal(records.length, 4);
  });
});
