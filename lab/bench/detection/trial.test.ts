import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rowsOf } from './rows.ts';
import { sightingsOf } from './theirs.ts';
import { judge, trialsOf } from './trial.ts';

const TRIALS = trialsOf(2);
const REPORTS = new Map(
  TRIALS.map(({ name }) => [
    name,
    {
      name,
      packets: 1,
      bytes: 1,
      beganAtMs: 10_000,
      endedAtMs: 30_000,
      peakPps: 4000,
      peakBps: 1,
      slots: [],
      longestPauseMs: 1,
      plannedPackets: 1,
    },
  ]),
);
const notice = { type: null, peakPps: null } as const;

describe('a trial', () => {
  it('counts the first sighting of its address, with the last word about type and peak', () => {
    const [{ target: ip } = assert.fail()] = TRIALS;
    const sightings = sightingsOf([
      { ip, kind: 'ban', atMs: 11_500, type: 'udp_flood', peakPps: 3000 },
      { ip, kind: 'attack_details', atMs: 12_000, type: 'udp_flood', peakPps: 3800 },
      { ...notice, ip, kind: 'unban', atMs: 25_000 },
      { ip, kind: 'ban', atMs: 26_000, type: 'unknown', peakPps: 1 },
    ]);
    const verdicts = judge(TRIALS, REPORTS, sightings);
    const { detectedAfter, peakError, endReportedAfter, endError, isNamedRightly } =
      verdicts[0] ?? assert.fail();
    assert.deepEqual(
      [detectedAfter, endReportedAfter, endError, isNamedRightly],
      [1.5, -5, 5, true],
    );
    assert.ok(Math.abs((peakError ?? 0) - 5) < 1e-9);
    assert.equal(verdicts[1]?.detectedAfter, null);
    const rows = new Map(rowsOf('x', verdicts, null).map(({ name, value }) => [name, value]));
    assert.equal(rows.get('x: attacks seen'), 1);
    assert.equal(rows.get('x: ended while the attack went on'), 1);
  });

  it('takes a name of any other kind for wrong, and a download for no attack', () => {
    const seen = TRIALS.map(({ target: ip }) => ({
      ip,
      openedAtMs: 11_000,
      type: 'syn_flood',
      peakPps: null,
      endReportedAtMs: null,
      endedAtMs: null,
    }));
    const verdicts = judge(TRIALS, REPORTS, seen);
    const right = verdicts.filter(({ isNamedRightly }) => isNamedRightly);
    assert.deepEqual(
      right.map(({ trial }) => trial.type),
      ['tcp_syn_flood', 'tcp_syn_flood'],
    );
    const rows = new Map(rowsOf('x', verdicts, verdicts).map((row) => [row.name, row.value]));
    assert.equal(rows.get('x: downloads taken for attacks'), 2);
    assert.equal(rows.get('x: attacks seen'), 6);
    assert.equal(rows.has('x: error of the peak, at worst'), false);
  });
});
