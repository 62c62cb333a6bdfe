import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { peakTogether, Schedule, sentBetween } from './schedule.ts';

const PLAN = {
  name: 'one',
  kind: 'udp',
  target: '192.0.2.1',
  to: '02:00:00:00:00:01',
  device: 'v0',
  ifindex: 1,
  pps: 1000,
  seconds: 4,
} as const;

/** Sends all that is due at each of these moments. */
function play(schedule: Schedule, moments: Iterable<number>): void {
  for (const atMs of moments) {
    const due = schedule.dueAt(atMs);
    schedule.note(atMs, due, due * 100);
  }
}

function* every(stepMs: number, untilMs: number): Generator<number> {
  for (let atMs = 0; atMs <= untilMs; atMs += stepMs) yield atMs;
}

describe('a flood', () => {
  it('is sent at its rate, and reported as it was sent', () => {
    const schedule = new Schedule(PLAN);
    play(schedule, every(1.7, 5000));
    assert.ok(schedule.isOverAt(4000) && !schedule.isOverAt(3999));
    const { packets, bytes, peakPps, peakBps, ...report } = schedule.report(1_000_000);
    const { plannedPackets, beganAtMs, endedAtMs } = report;
    assert.ok(packets > 3950 && packets <= 4000, `${packets}`);
    assert.equal(plannedPackets, 4000);
    assert.equal(bytes, packets * 100);
    assert.ok(peakPps >= 990 && peakPps <= 1010, `${peakPps}`);
    assert.equal(peakBps, peakPps * 800);
    assert.ok(beganAtMs < 1_000_005 && endedAtMs > 1_003_990);
  });

  it('beside others is reported with the most that all sent in one second, not with the sum of their best', () => {
    const reports = [0, 2].map((startSeconds) => {
      const schedule = new Schedule({ ...PLAN, seconds: 2, startSeconds });
      play(schedule, every(1, 5000));
      return schedule.report(0);
    });
    const alone = peakTogether(reports.slice(0, 1));
    assert.equal(alone, reports[0]?.peakPps);
    assert.ok(peakTogether(reports) <= alone + 15, `${peakTogether(reports)} of ${alone}`);
    const [first] = reports;
    assert.equal(peakTogether(first === undefined ? [] : [first, first]), 2 * alone);
  });

  it('does not make up for a pause of the machine: its peak stays its rate', () => {
    const schedule = new Schedule(PLAN);
    play(schedule, every(1, 1000));
    play(schedule, [1500]);
    play(
      schedule,
      Array.from(every(1, 1000), (atMs) => atMs + 1500),
    );
    const { packets, peakPps, longestPauseMs } = schedule.report(0);
    assert.equal(longestPauseMs, 500);
    assert.ok(packets < 2050, `${packets}`);
    assert.ok(peakPps <= 1025, `${peakPps}`);
  });

  it('that starts later is sent as long, and is informed when it began', () => {
    const schedule = new Schedule({ ...PLAN, seconds: 1, startSeconds: 2 });
    play(schedule, every(1, 2500));
    assert.ok(!schedule.isOverAt(2999) && schedule.isOverAt(3000));
    const { packets, beganAtMs } = schedule.report(10_000);
    assert.ok(packets >= 495 && packets <= 505, `${packets}`);
    assert.ok(beganAtMs >= 12_000 && beganAtMs < 12_010, `${beganAtMs}`);
  });

  it('of pulses rests between them', () => {
    const schedule = new Schedule({ ...PLAN, seconds: 1, times: 2, pauseSeconds: 3 });
    play(schedule, every(1, 4000));
    const half = schedule.report(0).packets;
    assert.ok(half > 980 && half <= 1021, `${half}`);
    assert.ok(!schedule.isOverAt(4999) && schedule.isOverAt(5000));
  });

  it('that ramps rises steadily to its rate', () => {
    const schedule = new Schedule({ ...PLAN, fromPps: 0 });
    play(schedule, every(1, 4000));
    const report = schedule.report(0);
    assert.equal(report.plannedPackets, 2000);
    assert.ok(report.packets > 1990 && report.packets <= 2000, `${report.packets}`);
    const quarters = [0, 1000, 2000, 3000].map((fromMs) =>
      sentBetween(report, fromMs, fromMs + 1000),
    );
    for (const [index, packets] of quarters.entries())
      assert.ok(Math.abs(packets - (125 + 250 * index)) < 40, quarters.join(' '));
  });

  it('is counted by when it was sent', () => {
    const schedule = new Schedule({ ...PLAN, seconds: 1, startSeconds: 2 });
    play(schedule, every(1, 3500));
    const report = schedule.report(10_000);
    const all = sentBetween(report, 0, 20_000);
    assert.equal(all, report.packets);
    const half = sentBetween(report, 12_500, 20_000);
    assert.ok(Math.abs(half - all / 2) <= 25, `${half} of ${all}`);
    assert.equal(sentBetween(report, 0, 11_000), 0);
  });
});
