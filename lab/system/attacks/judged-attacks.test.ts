import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it, type TestContext } from 'node:test';
import { arrivedOf } from '../../floods/cut-off.ts';
import { attackNamed } from '../../floods/attacks/table.ts';
import { type Done, type Ongoing, TestBed } from '../../floods/judging/test-bed.ts';
import type { ClientKind } from '../../floods/judging/clients.ts';
import { passedBy } from '../../floods/judging/verdict.ts';
import { sentBetween } from '../../floods/schedule.ts';
import { eventually, NEEDS } from '../stack-fixture.ts';
import { skipUnless } from '../../requirements.ts';

/**
 * Attacks of different kinds through a whole stack, with clients beside them. Goals are shares of what was really
 * sent, after the attack is held back: a loaded machine moves that moment, not the shares. All attacks are judged by
 * `npm run bench -- mitigation`.
 */
interface Judged {
  /** The name in `lab/floods/attacks/table.ts`. */
  readonly name: string;
  /** Least shares of what these clients sent since then, or during all of the attack. */
  readonly since: Readonly<Partial<Record<ClientKind, number>>>;
  readonly during: Readonly<Partial<Record<ClientKind, number>>>;
}
const CONNECTED = { old: 0.9, kept: 0.9 } as const;
const JUDGED: readonly Judged[] = [
  // New clients share a rate with the flood.
  { name: 'UDP 60 B, port of the game', since: CONNECTED, during: { new: 0.25, tcp: 0.9 } },
  { name: 'SYN to 80', since: { ...CONNECTED, tcp: 0.75 }, during: { new: 0.9, tcp: 0.75 } },
  { name: 'SYN, forged players: 3', since: CONNECTED, during: { new: 0.9, tcp: 0.75 } },
  { name: 'UDP + SYN 2,400/s', since: CONNECTED, during: { new: 0.1 } },
  { name: 'UDP, forged players: 1', since: CONNECTED, during: {} },
  { name: '12 real sources, 700 connections/s', since: {}, during: { crowd: 0.9, tcp: 0.9 } },
  { name: 'ACK 512 B', since: CONNECTED, during: {} },
];
/**
 * The packets that unanswered sources may send, with some tolerance; an unused rate holds the packets of one second.
 */
const ALLOWED_PPS = 600;
const ALLOWED_SHARE = 0.05;
/** Packets that leave while it is held back: enough to tell. */
const ENOUGH = 12_000;
const HELD_MS = 1_500;
const PATIENCE_MS = 40_000;

describe('a mitigation', { skip: skipUnless([...NEEDS, 'bpf', 'ethtool']) }, () => {
  let bed: TestBed;

  before(async () => {
    setPriority(-10);
    bed = await TestBed.start({ label: 'judged', plane: 'xdp', runs: JUDGED.length });
  });
  after(() => bed.stop());

  for (const judged of JUDGED) {
    const attack = attackNamed(judged.name);
    it(`holds back the attack and serves clients: ${attack.name}`, async (t) => {
      let heldMs = Number.NaN;
      const hasFlood = attack.vectors.length > 0;
      const until = async (ongoing: Ongoing): Promise<void> => {
        heldMs = await heldBack(ongoing);
      };
      const done = await bed.sendOnce(attack, 4, hasFlood ? { until } : {});
      if (hasFlood) checkPassed(t, done, heldMs);
      checkClients(t, done, heldMs, judged);
      const records = await bed.recordsOf(done.place);
      assert.ok(records.length === 1 || (!hasFlood && records.length === 0), `${records.length}`);
    });
  }

  /** Resolves with the time since when every vector has been held back, after enough of it was sent. */
  async function heldBack({ passed }: Ongoing): Promise<number> {
    const arrived = async (least: number, leastMs: number): Promise<boolean> => {
      const vectors = (await passed()).map((_, index) =>
        arrivedOf(bed.internet.client, 'eth0', async () => (await passed())[index] ?? 0, {
          enough: least,
          leastMs,
        }),
      );
      return (await Promise.all(vectors)).every(
        (one) => one.arrived <= ALLOWED_PPS * one.seconds + ALLOWED_SHARE * one.left,
      );
    };
    await eventually('every vector is held back', () => arrived(3_000, 500), PATIENCE_MS);
    const heldMs = performance.timeOrigin + performance.now();
    await arrived(ENOUGH, HELD_MS);
    return heldMs;
  }
});

function checkPassed(t: TestContext, { run }: Done, heldMs: number): void {
  for (const [index, flood] of run.floods.entries()) {
    const sent = sentBetween(flood, heldMs, Infinity);
    const passed = passedBy(run, index, Infinity) - passedBy(run, index, heldMs);
    const seconds = (flood.endedAtMs - heldMs) / 1000;
    t.diagnostic(`vector ${index + 1}: ${Math.round(passed)} of ${sent} passed in ${seconds} s`);
    assert.ok(sent > 0 && (index > 0 || passedBy(run, index, Infinity) > 0), 'nothing was sent');
    assert.ok(passed <= ALLOWED_PPS * (seconds + 0.5) + ALLOWED_SHARE * sent, `${passed} passed`);
  }
}

function checkClients(t: TestContext, { run }: Done, heldMs: number, judged: Judged): void {
  const check = (goals: Judged['since'], fromMs: number): void => {
    for (const [kind, least] of Object.entries(goals) as [ClientKind, number][]) {
      const tries = run.tries[kind].filter(([atMs]) => atMs >= fromMs && atMs <= run.toMs);
      const served = tries.filter(([, waitedMs]) => waitedMs !== null).length;
      t.diagnostic(`${kind}: ${served} of ${tries.length}`);
      assert.ok(served >= tries.length * least, `${kind}: ${served} of ${tries.length} served`);
    }
  };
  check(judged.since, heldMs);
  check(judged.during, run.fromMs);
}
