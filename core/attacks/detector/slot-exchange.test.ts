import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttackEvent } from '../attack.ts';
import { type DetectorSettings, type DetectorState, INITIAL, step } from './detector.ts';
import { HOSTS, sampleOf } from '../testing/samples.ts';

const SLOTS = 100;
const SETTINGS: DetectorSettings = {
  thresholdsOf: () => ({ pps: 1000, bps: 1e9, holdMs: 60_000 }),
  maxSubjects: SLOTS,
};
const [HOST] = HOSTS;
const CHURN_BUCKETS = 8;
const AT_A_TIME = 10;

/** Ever new addresses receive just enough traffic for an attack, for two seconds each. */
function rotatingRates(index: number, pps: number): Record<string, number> {
  const turn = Math.floor(index / CHURN_BUCKETS);
  const hosts = Array.from({ length: AT_A_TIME }, (_, n) => {
    const number = turn * AT_A_TIME + n;
    return [`10.0.${number >> 8}.${number & 255}`, pps] as const;
  });
  return Object.fromEntries(hosts);
}

/** Runs the detector and returns its events. Asserts that it never exceeds its slots. */
function play(buckets: number, rates: (index: number) => Record<string, number>) {
  let state: DetectorState = INITIAL;
  const events: { readonly index: number; readonly event: AttackEvent }[] = [];
  for (let index = 0; index < buckets; index++) {
    const { atMs, durationMs, addresses } = sampleOf(index, rates(index));
    const stepped = step(state, { atMs, durationMs, addresses, prefixes: [] }, SETTINGS);
    ({ state } = stepped);
    assert.ok(state.addresses.size <= SLOTS, String(state.addresses.size));
    events.push(...stepped.events.map((event) => ({ index, event })));
  }
  return { state, events };
}

const START_BUCKET = 400;
const eventsOf = (events: ReturnType<typeof play>['events'], subject: string) =>
  events.filter(({ event }) => event.attack.subject === subject && event.kind !== 'changed');

test('detects and keeps a real attack while ever new forged addresses fill all slots', () => {
  const { events } = play(START_BUCKET + 200, (index) => ({
    ...rotatingRates(index, 1_300),
    ...(index >= START_BUCKET ? { [HOST]: 20_000 } : {}),
  }));
  // All slots were in use: there were ten times as many addresses.
  const others = new Set(events.map(({ event }) => event.attack.subject));
  assert.ok(others.size > 4 * SLOTS, String(others.size));
  const [opened, ...more] = eventsOf(events, HOST);
  assert.equal(opened?.event.kind, 'opened');
  assert.ok((opened?.index ?? Infinity) - START_BUCKET <= 6, `${opened?.index} buckets`);
  assert.deepEqual(more, []);
});

test('ends the record of a subject that loses its slot, so that no untracked record stays open', () => {
  const { state, events } = play(START_BUCKET, (index) => rotatingRates(index, 1_300));
  const open = new Set<string>();
  for (const { event } of events) {
    const { subject, startedAtMs, endedAtMs } = event.attack;
    if (event.kind !== 'ended') open.add(subject);
    else {
      assert.ok(open.delete(subject));
      assert.ok(endedAtMs !== null && endedAtMs >= startedAtMs && endedAtMs <= event.atMs);
    }
  }
  for (const subject of open) assert.equal(state.addresses.get(subject)?.phase.name, 'ongoing');
});

test('does not replace subjects that have as much traffic', () => {
  const busy = Object.fromEntries(Array.from({ length: SLOTS }, (_, n) => [`10.9.0.${n}`, 900]));
  const { state } = play(60, (index) => ({
    ...busy,
    ...(index > 20 ? rotatingRates(index, 1_300) : {}),
  }));
  assert.deepEqual([...state.addresses.keys()].toSorted(), Object.keys(busy).toSorted());
});
