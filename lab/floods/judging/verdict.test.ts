import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrawnAttack } from '../attacks/attack.ts';
import { type FloodReport, Schedule } from '../schedule.ts';
import type { Tries, Try } from './clients.ts';
import { type AttackRun, isDoubtful, judge, passedBy } from './verdict.ts';

const BEGAN_MS = 1_000_000;
const SECONDS = 6;
const FLOOD: DrawnAttack = { name: 'a flood', type: 'udp_flood', vectors: [{ kind: 'udp' }] };
const NOBODY: Tries = { old: [], new: [], kept: [], tcp: [], busy: [], crowd: [] };

function sent(pps: number): FloodReport {
  const schedule = new Schedule({
    name: 'v1',
    kind: 'udp',
    target: '10.200.0.10',
    to: '02:00:00:00:00:01',
    device: 'v0',
    ifindex: 1,
    pps,
    seconds: SECONDS,
  });
  for (let atMs = 0; atMs <= SECONDS * 1000; atMs++) {
    const due = schedule.dueAt(atMs);
    schedule.note(atMs, due, due * 60);
  }
  return schedule.report(BEGAN_MS);
}

/** All of a flood passes for this time, and then a share of it. */
function run(change: Partial<AttackRun> = {}, openMs = 1_000, share = 0, pps = 6_000): AttackRun {
  const report = sent(pps);
  const passed = Array.from({ length: 70 }, (_, index) => {
    const atMs = Math.min(index * 100, SECONDS * 1000);
    const packets = (pps * (Math.min(atMs, openMs) + share * Math.max(0, atMs - openMs))) / 1000;
    return { atMs: BEGAN_MS + index * 100, packets: [packets] };
  });
  return {
    attack: FLOOD,
    family: 4,
    floods: [report],
    passed,
    tries: NOBODY,
    fromMs: report.beganAtMs,
    toMs: report.endedAtMs,
    heldUpMs: 0,
    ...change,
  };
}

const RECORD = {
  type: 'udp_flood',
  startedAtMs: BEGAN_MS,
  openedCommittedMs: BEGAN_MS + 750,
  mitigatedAtMs: BEGAN_MS + 1_000,
  endedAtMs: BEGAN_MS + 6_100,
} as const;
const tries = (count: number, waitedMs: number | null): Try[] =>
  Array.from({ length: count }, (_, index) => [BEGAN_MS + 100 + index, waitedMs]);

describe('a verdict', () => {
  it('counts what passed two seconds after the attack passed a threshold apart from the rest', () => {
    const held = judge(run(), [RECORD]);
    assert.ok(Math.abs((held.passed ?? 0) - 1 / 6) < 0.01, `${held.passed}`);
    assert.equal(held.passedAfter, 0);
    assert.deepEqual(held.misses, []);
    const limited = judge(run({}, 1_000, 0.1), [RECORD]);
    assert.ok(Math.abs((limited.passedAfter ?? 0) - 0.1) < 0.01, `${limited.passedAfter}`);
    assert.ok(Math.abs((limited.passedAfterPps ?? 0) - 600) < 20, `${limited.passedAfterPps}`);
    assert.match(limited.misses.join(), /^10\.\d % passed$/);
  });

  it('counts the time of vectors that are sent together once', () => {
    const one = run({}, 1_000, 0.1);
    const [report] = one.floods;
    assert.ok(report !== undefined);
    const attack = { ...FLOOD, vectors: [{ kind: 'udp' }, { kind: 'udp' }] } as const;
    const passed = one.passed.map(({ atMs, packets: [count = 0] }) => ({
      atMs,
      packets: [count, count],
    }));
    const both = judge({ ...one, attack, passed, floods: [report, report] }, [RECORD]);
    assert.ok(Math.abs((both.passedAfterPps ?? 0) - 1_200) < 40, `${both.passedAfterPps}`);
    assert.ok(Math.abs((both.passedAfter ?? 0) - 0.1) < 0.01, `${both.passedAfter}`);
  });

  it('holds only vectors against a mitigation that exceed a threshold by themselves', () => {
    const attack = { ...FLOOD, vectors: [{ kind: 'udp', pps: 1_500 }] } as const;
    const verdict = judge(run({ attack }, 6_000, 1, 1_500), [RECORD]);
    assert.ok((verdict.passed ?? 0) > 0.95);
    assert.equal(verdict.passedAfter, null);
    assert.deepEqual(verdict.misses, []);
  });

  it('judges clients by what they sent during the attack, and answers by their time', () => {
    const before: Try = [BEGAN_MS - 10, null];
    const after: Try = [BEGAN_MS + 6_500, null];
    const late: Try = [BEGAN_MS + 500, 3_100];
    const lost: Try = [BEGAN_MS + 500, null];
    const old = judge(run({ tries: { ...NOBODY, old: [before, after, ...tries(99, 5)] } }), [
      RECORD,
    ]);
    assert.deepEqual(old.clients.old, { sent: 99, served: 99, p95Ms: 5 });
    assert.deepEqual(old.misses, []);
    for (const one of [late, lost]) {
      const verdict = judge(run({ tries: { ...NOBODY, tcp: [one, ...tries(20, 5)] } }), [RECORD]);
      assert.deepEqual(verdict.misses, ['tcp 20 of 21']);
    }
  });

  it('wants one record of an attack, none of what is none, and lets a crowd have one', () => {
    const missed = (attack: DrawnAttack, records: number): readonly string[] =>
      judge(
        run({ attack }),
        Array.from({ length: records }, () => RECORD),
      ).misses;
    assert.deepEqual(missed(FLOOD, 0), ['0 records']);
    assert.deepEqual(missed(FLOOD, 2), ['2 records']);
    assert.deepEqual(missed({ ...FLOOD, records: 2 }, 2), []);
    assert.deepEqual(missed({ ...FLOOD, type: null }, 1), ['1 records']);
    const crowd = { sources: 1, connectionsPerSecond: 1, seconds: 1 };
    assert.deepEqual(missed({ ...FLOOD, type: null, crowd }, 1), []);
  });

  it('dates what was detected and in the kernel from when a threshold was passed', () => {
    const { detectedMs, kernelMs, endMs } = judge(run(), [RECORD]);
    assert.deepEqual(
      [detectedMs, kernelMs].map((ms) => Math.round((ms ?? 0) / 10)),
      [75, 100],
    );
    assert.ok(Math.abs((endMs ?? 0) - 100) < 10);
    assert.equal(judge(run(), [{ ...RECORD, openedCommittedMs: null }]).detectedMs, null);
    const attack = { ...FLOOD, vectors: [{ kind: 'udp', pps: 6_000, fromPps: 0 }] } as const;
    assert.ok((judge(run({ attack }), [RECORD]).kernelMs ?? 0) < 0);
  });

  it('is doubtful only if the machine held up a run that missed a goal on the wire', () => {
    const missed = { tries: { ...NOBODY, new: tries(4, null) } };
    assert.ok(isDoubtful(run({ ...missed, heldUpMs: 200 })));
    assert.ok(!isDoubtful(run(missed)));
    assert.ok(!isDoubtful(run({ heldUpMs: 200 })));
  });
});

describe('what had passed at a time', () => {
  it('lies between two snapshots, and ends soon after the attack', () => {
    const passed = [
      { atMs: 1_000, packets: [0] },
      { atMs: 2_000, packets: [500] },
      { atMs: 9_000, packets: [7_500] },
    ];
    const at = (atMs: number): number => passedBy({ passed, toMs: 2_700 }, 0, atMs);
    assert.deepEqual([at(0), at(1_000), at(1_500), at(2_000)], [0, 0, 250, 500]);
    assert.equal(at(Infinity), 1_500);
  });
});
