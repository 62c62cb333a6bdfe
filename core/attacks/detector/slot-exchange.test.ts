import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttackEvent } from '../attack.ts';
import { type DetectorSettings, type DetectorState, INITIAL, step } from './detector.ts';
import { HOSTS, sampleOf } from '../testing/samples.ts';

const PLACES = 100;
const SETTINGS: DetectorSettings = {
  thresholdsOf: () => ({ pps: 1000, bps: 1e9, holdMs: 60_000 }),
  maxSubjects: PLACES,
};
const [HOST] = HOSTS;
const CHURN_BUCKETS = 8;
const AT_A_TIME = 10;

/** Address after address gets just enough to be an attack, for two seconds each. */
function churn(index: number, pps: number): Record<string, number> {
  const turn = Math.floor(index / CHURN_BUCKETS);
  const hosts = Array.from({ length: AT_A_TIME }, (_, n) => {
    const number = turn * AT_A_TIME + n;
    return [`10.0.${number >> 8}.${number & 255}`, pps] as const;
  });
  return Object.fromEntries(hosts);
}

/** What is told while `rates` come, bucket by bucket; places are never more than there are. */
function play(buckets: number, rates: (index: number) => Record<string, number>) {
  let state: DetectorState = INITIAL;
  const told: { readonly index: number; readonly event: AttackEvent }[] = [];
  for (let index = 0; index < buckets; index++) {
    const { atMs, durationMs, addresses } = sampleOf(index, rates(index));
    const stepped = step(state, { atMs, durationMs, addresses, prefixes: [] }, SETTINGS);
    ({ state } = stepped);
    assert.ok(state.addresses.size <= PLACES, String(state.addresses.size));
    told.push(...stepped.events.map((event) => ({ index, event })));
  }
  return { state, told };
}

const BEGINS = 400;
const eventsOf = (told: ReturnType<typeof play>['told'], subject: string) =>
  told.filter(({ event }) => event.attack.subject === subject && event.kind !== 'changed');

test('addresses after addresses made up to fill all places keep no real attack out, nor end one that goes on', () => {
  const { told } = play(BEGINS + 200, (index) => ({
    ...churn(index, 1_300),
    ...(index >= BEGINS ? { [HOST]: 20_000 } : {}),
  }));
  // All places had been taken: there were ten times as many.
  const others = new Set(told.map(({ event }) => event.attack.subject));
  assert.ok(others.size > 4 * PLACES, String(others.size));
  const [opened, ...more] = eventsOf(told, HOST);
  assert.equal(opened?.event.kind, 'opened');
  assert.ok((opened?.index ?? Infinity) - BEGINS <= 6, `${opened?.index} buckets`);
  assert.deepEqual(more, []);
});

test('whoever lost its place had ended: no record stays open that nobody looks at', () => {
  const { state, told } = play(BEGINS, (index) => churn(index, 1_300));
  const open = new Set<string>();
  for (const { event } of told) {
    const { subject, startedAtMs, endedAtMs } = event.attack;
    if (event.kind !== 'ended') open.add(subject);
    else {
      assert.ok(open.delete(subject));
      assert.ok(endedAtMs !== null && endedAtMs >= startedAtMs && endedAtMs <= event.atMs);
    }
  }
  for (const subject of open) assert.equal(state.addresses.get(subject)?.phase.name, 'ongoing');
});

test('what gets no more than those who have places takes none of them', () => {
  const busy = Object.fromEntries(Array.from({ length: PLACES }, (_, n) => [`10.9.0.${n}`, 900]));
  const { state } = play(60, (index) => ({ ...busy, ...(index > 20 ? churn(index, 1_300) : {}) }));
  assert.deepEqual([...state.addresses.keys()].toSorted(), Object.keys(busy).toSorted());
});
