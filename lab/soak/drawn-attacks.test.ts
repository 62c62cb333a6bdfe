import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { after, before, describe, it, type TestContext } from 'node:test';
import { THRESHOLDS } from '../floods/attacks/attack.ts';
import { DRAWN_ATTACKS, drawAttacks } from '../floods/attacks/draw.ts';
import { type Done, TestBed } from '../floods/judging/test-bed.ts';
import { GOALS, judge, type Verdict } from '../floods/judging/verdict.ts';
import { skipUnless } from '../requirements.ts';

/** Another draw each night; `PORTCULLIS_DRAW_SEED` repeats one. */
const SEED = Number(process.env['PORTCULLIS_DRAW_SEED'] ?? Math.floor(Date.now() / 86_400_000));
/** The documented rate of unanswered sources for each vector, with some tolerance. */
const ALLOWED_PPS = 600;
const ENDED_MS = (THRESHOLDS.holdSeconds + 2) * 1000;

describe(`${DRAWN_ATTACKS} drawn attacks of seed ${SEED}`, {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool', 'postgres']),
}, () => {
  let bed: TestBed;

  before(async () => {
    setPriority(-10);
    bed = await TestBed.start({ label: 'drawn', plane: 'xdp', runs: 3 * DRAWN_ATTACKS });
  });
  after(() => bed.stop());

  for (const family of [4, 6] as const) {
    it(`IPv${family}: are held back and recorded once, and nobody connected loses a packet`, async (t) => {
      await sendAll(t, family, false);
    });
  }

  it('are held back on an edge whose agent is killed in the middle of each', async (t) => {
    await sendAll(t, 4, true);
  });

  async function sendAll(t: TestContext, family: 4 | 6, killsAgent: boolean): Promise<void> {
    t.diagnostic(`PORTCULLIS_DRAW_SEED=${SEED}`);
    const done: Done[] = [];
    for (const attack of drawAttacks(SEED))
      done.push(await bed.send(attack, family, { killsAgent }));
    await pause(ENDED_MS);
    const wrong: string[] = [];
    for (const { run, place } of done) {
      const verdict = judge(run, await bed.recordsOf(place));
      t.diagnostic(`${verdict.name}: ${verdict.misses.join(', ') || 'every goal met'}`);
      wrong.push(...faultsOf(verdict, run.attack.vectors.length));
    }
    assert.deepEqual(wrong, []);
  }
});

/** New clients share the rate of unanswered sources with a flood, so that theirs is no fault. */
function faultsOf(verdict: Verdict, vectors: number): string[] {
  const { name, passedAfter, passedAfterPps, clients, records } = verdict;
  const faults: string[] = [];
  if ((passedAfter ?? 0) > GOALS.passedAfter && (passedAfterPps ?? 0) > ALLOWED_PPS * vectors)
    faults.push(`${name}: ${passedAfterPps} packets/s passed`);
  for (const kind of ['old', 'kept'] as const) {
    const { sent, served } = clients[kind];
    if (served < sent * GOALS[kind]) faults.push(`${name}: ${kind} ${served} of ${sent}`);
  }
  if (records !== 1) faults.push(`${name}: ${records} records`);
  return faults;
}
