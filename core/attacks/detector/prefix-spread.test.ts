import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AttackEvent } from '../attack.ts';
import { type DetectorState, INITIAL, step } from './detector.ts';
import type { Sample } from '../sample.ts';
import { usualRates } from './prefix-spread.ts';
import { BEGIN_MS, HOSTS, PREFIX, sampleOf } from '../testing/samples.ts';

const LIMIT_PPS = 1000;
const [SERVER, SECOND, THIRD] = HOSTS;
const CROWD = Array.from({ length: 32 }, (_, host) => `203.0.113.${100 + host}`);
type ByHost = Readonly<Record<string, number>>;

/** A piece of traffic of the given number of buckets of 250 ms. A minute of usual traffic comes first. */
interface TrafficPiece {
  readonly buckets: number;
  readonly byHost: ByHost;
}

interface OwnThresholds {
  readonly [host: string]: number;
}

/** The share of traffic without a separate count per address, by bucket since the start of the flood. */
type UncountedShares = readonly number[];

function play(
  pieces: readonly TrafficPiece[],
  own: OwnThresholds = {},
  { uncounted = [], hosts = [] }: { uncounted?: UncountedShares; hosts?: readonly string[] } = {},
): AttackEvent[] {
  const thresholdsOf = (subject: string) => ({
    pps: own[subject] ?? LIMIT_PPS,
    bps: 1e9,
    holdMs: 5000,
  });
  let state: DetectorState = INITIAL;
  const events: AttackEvent[] = [];
  let index = 0;
  for (const { buckets, byHost } of pieces) {
    for (let bucket = 0; bucket < buckets; bucket++) {
      const missed = uncounted[index - USUAL_MINUTE.buckets] ?? 0;
      const sample = omitTraffic(sampleOf(index++, byHost), missed, hosts);
      const stepped = step(state, sample, { thresholdsOf, maxSubjects: 200 });
      state = stepped.state;
      events.push(...stepped.events);
    }
  }
  return events;
}

/** Omits a part of the traffic of these hosts; it still counts for their prefix. */
function omitTraffic(sample: Sample, missed: number, hosts: readonly string[]): Sample {
  const addresses = sample.addresses.flatMap((one) =>
    !hosts.includes(one.subject)
      ? [one]
      : missed === 1
        ? []
        : [{ ...one, packets: one.packets * (1 - missed), bytes: one.bytes * (1 - missed) }],
  );
  return { ...sample, addresses };
}

const crowd = (pps: number): ByHost =>
  Object.fromEntries(CROWD.map((host) => [host, pps / CROWD.length]));
const opened = (events: readonly AttackEvent[]): string[] =>
  events.filter(({ kind }) => kind === 'opened').map(({ attack }) => attack.subject);

const USUAL_MINUTE = { buckets: 240, byHost: crowd(20) };
const AFTER_S = 60;

function opensAfterS(events: readonly AttackEvent[]): number {
  const first = events.find(({ kind }) => kind === 'opened');
  return ((first?.atMs ?? Number.NaN) - BEGIN_MS) / 1000 - AFTER_S;
}

describe('a flood over a prefix', () => {
  it('is detected equally fast if one address also receives any rate below its own threshold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999 }),
        fc.integer({ min: 2000, max: 20_000 }),
        (a, b) => {
          const events = play([
            USUAL_MINUTE,
            { buckets: 40, byHost: { ...crowd(b), [SERVER]: a } },
          ]);
          assert.deepEqual(opened(events), [PREFIX]);
          assert.ok(opensAfterS(events) <= 1.5);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('is detected despite a server with high usual traffic or with a high threshold', () => {
    const before = { ...crowd(20), [SERVER]: 900 };
    const flood = { buckets: 40, byHost: { ...crowd(2500), [SERVER]: 900 } };
    assert.deepEqual(opened(play([{ buckets: 240, byHost: before }, flood])), [PREFIX]);
    const more = { ...crowd(2500), [SERVER]: 5000 };
    const allowed = play([USUAL_MINUTE, { buckets: 40, byHost: more }], { [SERVER]: 10_000 });
    assert.deepEqual(opened(allowed), [PREFIX]);
  });

  it('ends although one address stays busy', () => {
    const busy = { ...crowd(20), [SERVER]: 900 };
    const events = play([
      USUAL_MINUTE,
      { buckets: 40, byHost: { ...crowd(2500), [SERVER]: 900 } },
      { buckets: 40, byHost: busy },
    ]);
    const ended = events.find(({ kind }) => kind === 'ended');
    assert.equal(ended?.attack.subject, PREFIX);
    assert.equal(ended?.attack.endedAtMs, BEGIN_MS + 70_000);
  });

  it('opens one record of the prefix within 3 s if it hits few addresses below their thresholds', () => {
    const byHost = { ...crowd(20), [SERVER]: 940, [SECOND]: 940, [THIRD]: 940 };
    const events = play([USUAL_MINUTE, { buckets: 40, byHost }]);
    assert.deepEqual(opened(events), [PREFIX]);
    assert.ok(opensAfterS(events) <= 3);
  });

  it('excludes the traffic of a separately attacked address from its peak', () => {
    // With 6,400 both start in the same bucket.
    for (const spread of [3000, 6400]) {
      const byHost = { ...crowd(spread), [SERVER]: 40_000 };
      const events = play([USUAL_MINUTE, { buckets: 40, byHost }]);
      assert.deepEqual(opened(events).toSorted(), [PREFIX, SERVER].toSorted());
      const last = events.findLast(({ attack }) => attack.subject === PREFIX);
      assert.ok((last?.attack.peakPps.value ?? Number.NaN) <= spread * 1.01);
    }
  });
});

describe('the detector opens no attack on a prefix', () => {
  it('for floods on few addresses that each exceed their own threshold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1150, max: 30_000 }),
        (count, pps) => {
          const attacked = HOSTS.slice(0, count);
          const byHost = { ...crowd(20), ...Object.fromEntries(attacked.map((to) => [to, pps])) };
          const events = play([USUAL_MINUTE, { buckets: 40, byHost }]);
          assert.deepEqual(opened(events).toSorted(), attacked.toSorted());
        },
      ),
      { numRuns: 25 },
    );
  });

  it('for traffic of few addresses from before they were counted separately, for any part of two buckets', () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1150, max: 60_000 }),
        fc.oneof(part, fc.constant(1)),
        fc.double({ min: 0, max: 0.2, noNaN: true }),
        part,
        (count, pps, first, second, opening) => {
          const hosts = HOSTS.slice(0, count);
          const flood = (rate: number): ByHost => ({
            ...crowd(20),
            ...Object.fromEntries(hosts.map((to) => [to, rate])),
          });
          const pieces = [
            USUAL_MINUTE,
            { buckets: 1, byHost: flood(pps * opening) },
            { buckets: 40, byHost: flood(pps) },
          ];
          const events = play(pieces, {}, { uncounted: [first, second], hosts });
          assert.deepEqual(opened(events).toSorted(), hosts.toSorted());
          const limitS = pps >= 2 * LIMIT_PPS ? 1.5 : 3;
          assert.ok(opensAfterS(events) <= limitS, `${opensAfterS(events)} s`);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('for servers with higher thresholds than their prefix, at any rates below these, for minutes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(...HOSTS.map(() => fc.integer({ min: 0, max: 9_900 }))), {
          minLength: 1,
          maxLength: 4,
        }),
        (rates) => {
          const own = Object.fromEntries(HOSTS.map((host) => [host, 10_000]));
          const pieces = rates.map((pps) => ({
            buckets: 400,
            byHost: {
              ...crowd(20),
              ...Object.fromEntries(HOSTS.map((host, index) => [host, pps[index] ?? 0])),
            },
          }));
          assert.deepEqual(play([USUAL_MINUTE, ...pieces], own), []);
        },
      ),
      { numRuns: 15 },
    );
  });

  it('when an attack of any duration on a busy server in a busy prefix ends', () => {
    const usual = { ...crowd(2000), [SERVER]: 5000 };
    const events = play(
      [
        { buckets: 4 * 400, byHost: usual },
        { buckets: 4 * 800, byHost: { ...usual, [SERVER]: 40_000 } },
        { buckets: 4 * 320, byHost: usual },
      ],
      { [SERVER]: 20_000 },
    );
    assert.deepEqual(opened(events), [SERVER]);
  });
});

describe('the usual traffic of a prefix', () => {
  it('neither falls nor rises because of an attack on one of its addresses', () => {
    const rate = fc.float({ min: 0, max: 1e6, noNaN: true });
    const rates = fc.record({ pps: rate, bps: rate });
    const deviations = { ppsDeviation: 0, bpsDeviation: 0, learntMs: 0 };
    fc.assert(
      fc.property(rates, rates, fc.array(rates, { maxLength: 3 }), (now, before, attacked) => {
        const kept = usualRates(
          now,
          { ...before, ...deviations },
          attacked.map((one) => ({ ...one, ...deviations })),
        );
        for (const unit of ['pps', 'bps'] as const) {
          assert.ok(kept[unit] >= now[unit] && kept[unit] <= Math.max(now[unit], before[unit]));
        }
      }),
    );
  });
});
