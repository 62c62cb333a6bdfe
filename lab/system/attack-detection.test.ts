import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { linkOf } from '../bench/traffic.ts';
import { campaign, plansOf, scopesOf, type Target } from '../floods/campaign.ts';
import { sendFloods } from '../floods/flood.ts';
import type { FloodReport } from '../floods/schedule.ts';
import { WatchedEdge } from '../floods/watched-edge.ts';
import { Network } from '../netns.ts';
import { skipUnless } from '../requirements.ts';

const SECONDS = 8;
const HOLD_MS = 3000;
/** What is asked of a detector, by how many times the threshold it is. */
const OPENED_WITHIN = [
  [1.2, 3000],
  [2, 1500],
] as const;
/** A machine where others work too is late by so much now and then. */
const LATE_MS = 500;
const PEAK_ERROR = 0.05;

/** A machine that keeps the sender itself waiting sends no steady flood: then once more. */
const ATTEMPTS = 4;
const STEADY_PAUSE_MS = 60;

interface Seen {
  readonly attack: Attack;
  readonly openedAtMs: number;
  readonly endedKnownAtMs: number | null;
  readonly kinds: readonly AttackEvent['kind'][];
}

const targets = campaign();
const seen = new Map<string, Seen>();
/** Judged anew in each attempt. */
let judge: (sample: Sample) => void = () => {};
let reports: ReadonlyMap<string, FloodReport>;

/** The detector of control, on what comes from the edge. */
function detecting(): (sample: Sample) => void {
  const scopes = new NearestScope(
    scopesOf(targets, HOLD_MS).map((one) => [one.scope, one] as const),
  );
  const thresholdsOf = (subject: string) => scopes.of(subject) ?? DEFAULT_THRESHOLDS;
  let state: DetectorState = INITIAL;
  return (sample) => {
    const stepped = step(state, sample, { thresholdsOf, maxSubjects: 1000 });
    state = stepped.state;
    for (const event of stepped.events) note(event);
  };
}

function note({ kind, attack }: AttackEvent): void {
  const before = seen.get(attack.subject);
  seen.set(attack.subject, {
    attack,
    openedAtMs: before?.openedAtMs ?? Date.now(),
    endedKnownAtMs: kind === 'ended' ? Date.now() : null,
    kinds: [...(before?.kinds ?? []), kind],
  });
}

function wasSteady(sent: ReadonlyMap<string, FloodReport>): boolean {
  return [...sent.values()].every(({ longestPauseMs }) => longestPauseMs <= STEADY_PAUSE_MS);
}

const attacks = targets.filter(({ type }) => type !== null);

function each(check: (target: Target, one: Seen, sent: FloodReport) => string | null): void {
  const wrong = attacks.flatMap((target) => {
    const one = seen.get(target.address);
    const sent = reports.get(target.name);
    assert.ok(sent !== undefined);
    const why = one === undefined ? 'not seen' : check(target, one, sent);
    return why === null ? [] : [`${target.name}: ${why}`];
  });
  assert.deepEqual(wrong, []);
}

describe('real floods, counted in the kernel of a real edge', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool']),
}, () => {
  const network = new Network('attacks');
  let edge: WatchedEdge | null = null;

  before(async () => {
    // Control is in this process.
    setPriority(-10);
    const sender = network.create('sender');
    const host = network.create('edge');
    network.join(sender, { device: 'v0', addresses: [] }, host, {
      device: 'wan',
      addresses: ['192.0.2.1/24', '2001:db8:c::1/64'],
    });
    for (const [where, device] of [[sender, 'v0'] as const, [host, 'wan'] as const]) {
      where.run('ethtool', '-K', device, 'gro', 'on');
    }
    for (const net of ['203.0.113.0/24', '2001:db8:5::/48']) {
      host.run('ip', 'route', 'add', 'blackhole', net);
    }
    edge = await WatchedEdge.start(host, {
      device: 'wan',
      scopes: scopesOf(targets, HOLD_MS),
      onSample: (sample) => judge(sample),
    });
    const { ifindex } = linkOf(sender, 'v0');
    const { address: to } = linkOf(host, 'wan');
    const plans = plansOf(targets, { device: 'v0', ifindex, to }, SECONDS);
    for (let attempt = 1; ; attempt++) {
      seen.clear();
      judge = detecting();
      await pause(2000);
      reports = await sendFloods(sender, plans);
      await pause(HOLD_MS + 2000);
      if (attempt === ATTEMPTS || wasSteady(reports)) return;
    }
  });
  after(async () => {
    await edge?.stop();
    network.destroy();
  });

  it('are each one record, named rightly', () => {
    each(({ type }, { attack, kinds }) => {
      if (attack.type !== type) return `${attack.type} ${JSON.stringify(attack.shares)}`;
      return kinds.filter((kind) => kind === 'opened').length === 1 ? null : kinds.join(' ');
    });
  });

  it('are seen within 3 s at 1.2 times a threshold, and within 1.5 s at twice one', (t) => {
    for (const factor of [1.2, 2, 10]) {
      const took = attacks
        .filter((target) => target.factor === factor)
        .map(({ address, name }) => {
          const beganAtMs = reports.get(name)?.beganAtMs ?? Number.NaN;
          return (seen.get(address)?.openedAtMs ?? Number.NaN) - beganAtMs;
        });
      t.diagnostic(`at ${factor} x, of ${took.length}: ${Math.max(...took).toFixed(0)} ms at most`);
    }
    each(({ factor }, { openedAtMs }, { beganAtMs }) => {
      const [, limit] = OPENED_WITHIN.findLast(([from]) => factor >= from) ?? [0, 0];
      const tookMs = openedAtMs - beganAtMs;
      return tookMs <= limit + LATE_MS ? null : `after ${Math.round(tookMs)} ms`;
    });
  });

  it('have peaks within 5 % of what was sent', (t) => {
    let worst = 0;
    each((_, { attack }, { peakPps, peakBps }) => {
      const off = Math.max(
        Math.abs(attack.peakPps.value / peakPps - 1),
        Math.abs(attack.peakBps.value / peakBps - 1),
      );
      worst = Math.max(worst, off);
      return off <= PEAK_ERROR ? null : `off by ${(off * 100).toFixed(1)} %`;
    });
    t.diagnostic(`${(worst * 100).toFixed(1)} % at most`);
  });

  it('end when they end, and that is known after the hold time', () => {
    each((_, { attack, endedKnownAtMs }, { endedAtMs }) => {
      if (endedKnownAtMs === null || attack.endedAtMs === null) return 'goes on';
      const lateMs = endedKnownAtMs - endedAtMs - HOLD_MS;
      const offMs = Math.abs(attack.endedAtMs - endedAtMs);
      return lateMs <= 1000 && offMs <= 1000 ? null : `known ${lateMs} ms late, off by ${offMs} ms`;
    });
  });

  it('are told from downloads and from players that rush in: nothing else is recorded', () => {
    const known = new Set(attacks.map(({ address }) => address));
    assert.deepEqual(
      [...seen.keys()].filter((subject) => !known.has(subject)),
      [],
    );
  });
});
