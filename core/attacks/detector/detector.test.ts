import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AttackEvent } from '../attack.ts';
import { type DetectorSettings, type DetectorState, INITIAL, step } from './detector.ts';
import type { Sample } from '../sample.ts';
import { BEGIN_MS, HOSTS, PREFIX, sampleOf, traffic } from '../testing/samples.ts';

const SETTINGS: DetectorSettings = {
  thresholdsOf: () => ({ pps: 1000, bps: 1e9, holdMs: 5000 }),
  maxSubjects: 100,
};
const [HOST] = HOSTS;

function play(samples: readonly Sample[], settings = SETTINGS) {
  let state: DetectorState = INITIAL;
  const events: AttackEvent[] = [];
  for (const sample of samples) {
    const stepped = step(state, sample, settings);
    state = stepped.state;
    events.push(...stepped.events);
  }
  return { state, events };
}

/** Samples of one host: each rate lasts for the given number of buckets of 250 ms. */
function rates(...pieces: readonly (readonly [pps: number, buckets: number])[]): Sample[] {
  const list = pieces.flatMap(([pps, buckets]) => Array<number>(buckets).fill(pps));
  return list.map((pps, index) => sampleOf(index, { [HOST]: pps }));
}

const kinds = (events: readonly AttackEvent[]): string[] =>
  events.map(({ kind }) => kind).filter((kind) => kind !== 'changed');

describe('the detector, for any traffic', () => {
  it('never has two open records for one subject, and ends or continues only existing records', () => {
    fc.assert(
      fc.property(traffic, (samples) => {
        const open = new Map<string, string>();
        const ended = new Set<string>();
        for (const { kind, attack } of play(samples).events) {
          const { subject, id } = attack;
          if (kind === 'opened') {
            assert.ok(!open.has(subject) && !ended.has(id));
            open.set(subject, id);
          } else if (kind === 'continued') {
            assert.ok(!open.has(subject) && ended.delete(id));
            open.set(subject, id);
          } else {
            assert.equal(open.get(subject), id);
            if (kind === 'ended') {
              open.delete(subject);
              ended.add(id);
            }
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('never lowers a peak, keeps it within its bounds, and ends records after their start', () => {
    fc.assert(
      fc.property(traffic, (samples) => {
        const peaks = new Map<string, number>();
        for (const { attack, atMs } of play(samples).events) {
          const { peakPps, startedAtMs, endedAtMs } = attack;
          assert.ok(peakPps.value >= (peaks.get(attack.id) ?? 0));
          assert.ok(peakPps.low <= peakPps.value && peakPps.value <= peakPps.high);
          assert.ok(startedAtMs <= (endedAtMs ?? atMs) && (endedAtMs ?? atMs) <= atMs);
          peaks.set(attack.id, peakPps.value);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('returns the same records for the same samples and does not change its input state', () => {
    fc.assert(
      fc.property(traffic, (samples) => {
        const { state, events } = play(samples);
        assert.deepEqual(play(samples).events, events);
        const before = structuredClone(state);
        for (const sample of samples.slice(0, 4)) step(state, sample, SETTINGS);
        assert.deepEqual(state, before);
      }),
      { numRuns: 30 },
    );
  });

  it('drops quiet subjects and never tracks more subjects than the maximum', () => {
    const crowd = Object.fromEntries(
      Array.from({ length: 500 }, (_, host) => [`198.51.${host >> 8}.${host & 255}`, 900]),
    );
    const samples = Array.from({ length: 20 }, (_, index) => sampleOf(index, crowd));
    const { state } = play(samples);
    assert.ok(state.addresses.size <= SETTINGS.maxSubjects);
    // The hold time, the time in which the attack could continue, and the decay of the usual traffic.
    const quiet = Array.from({ length: 4 * 4000 }, (_, index) => sampleOf(20 + index, {}));
    assert.deepEqual(play([...samples, ...quiet]).state.addresses.size, 0);
  });
});

describe('an attack record', () => {
  it('stays the same while traffic oscillates around its limit', () => {
    const flapping = Array.from({ length: 40 }, (_, index): [number, number] => [
      index % 2 === 0 ? 1300 : 700,
      6,
    ]);
    assert.deepEqual(kinds(play(rates([100, 40], ...flapping)).events), ['opened']);
  });

  it('continues if the attack returns within five minutes; later a new record opens', () => {
    const soon = play(rates([3000, 20], [0, 400], [3000, 20], [0, 40])).events;
    assert.deepEqual(kinds(soon), ['opened', 'ended', 'continued', 'ended']);
    assert.equal(new Set(soon.map(({ attack }) => attack.id)).size, 1);
    const late = play(rates([3000, 20], [0, 1400], [3000, 20])).events;
    assert.deepEqual(kinds(late), ['opened', 'ended', 'opened']);
  });

  it('is closed before the hold time has passed, with a margin for reporting, and ends at the last attack packet', () => {
    const { events } = play(rates([100, 40], [3000, 40], [100, 40]));
    const ended = events.find(({ kind }) => kind === 'ended');
    assert.equal(ended?.attack.startedAtMs, BEGIN_MS + 10_000);
    assert.equal(ended?.attack.endedAtMs, BEGIN_MS + 20_000);
    assert.equal(ended?.atMs, BEGIN_MS + 24_250);
  });

  it('opens for traffic that rises slowly, and stays open however long the attack lasts', () => {
    const lasting = play(rates([100, 40], [3000, 4 * 1200]));
    assert.deepEqual(kinds(lasting.events), ['opened']);
    const rising = Array.from({ length: 600 }, (_, index): [number, number] => [index * 40, 12]);
    assert.equal(play(rates(...rising)).events[0]?.kind, 'opened');
  });

  it('is not opened for traffic that is usual for the address', () => {
    const grown = [200, 300, 450, 650, 900].map((pps): [number, number] => [pps, 4 * 400]);
    assert.deepEqual(play(rates(...grown, [1500, 40])).events, []);
    assert.equal(play(rates(...grown, [6000, 40])).events.length > 0, true);
  });

  it('on an address opens no record for its prefix', () => {
    const { events } = play(rates([100, 200], [50_000, 80]));
    assert.deepEqual(new Set(events.map(({ attack }) => attack.subject)), new Set([HOST]));
  });

  it('is one record of the prefix if the attack is spread over many addresses', () => {
    const hosts = Array.from({ length: 64 }, (_, host) => `203.0.113.${host}`);
    const all = (pps: number): Record<string, number> =>
      Object.fromEntries(hosts.map((host) => [host, pps]));
    for (const each of [32, 300, 3000]) {
      const samples = Array.from({ length: 260 }, (_, index) =>
        sampleOf(index, all(index < 200 ? 2 : each)),
      );
      const { events } = play(samples);
      assert.deepEqual(kinds(events), ['opened']);
      assert.equal(events[0]?.attack.subject, PREFIX);
      assert.equal(events[0]?.attack.type, 'udp_flood');
    }
  });

  it('is opened for an address with most of the traffic of an attack on its prefix', () => {
    const hosts = Array.from({ length: 64 }, (_, host) => `203.0.113.${host}`);
    const samples = Array.from({ length: 300 }, (_, index) =>
      sampleOf(index, {
        ...Object.fromEntries(hosts.map((host) => [host, index < 200 ? 2 : 40])),
        ...(index < 240 ? {} : { [HOST]: 20_000 }),
      }),
    );
    const opened = play(samples).events.filter(({ kind }) => kind === 'opened');
    assert.deepEqual(
      opened.map(({ attack }) => attack.subject),
      [PREFIX, HOST],
    );
  });

  it('has timestamps of the wall clock and durations of the monotonic clock, so a clock step opens and ends none', () => {
    const samples = rates([100, 40], [3000, 40], [100, 10]).map((sample, index) => ({
      ...sample,
      atMs: sample.atMs + (index > 50 ? -3_600_000 : 0) + (index > 85 ? 86_400_000 : 0),
    }));
    assert.deepEqual(kinds(play(samples).events), ['opened']);
  });
});
