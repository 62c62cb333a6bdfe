import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { linkOf } from '../bench/generator/traffic.ts';
import {
  everyCampaign,
  knownWithinMs,
  plansOf,
  scopesOf,
  type Target,
} from '../floods/campaign.ts';
import { sendFloods } from '../floods/flood.ts';
import { sendCampaign, type Sent } from '../floods/resend.ts';
import type { FloodReport } from '../floods/schedule.ts';
import { WatchedEdge } from '../floods/watched-edge.ts';
import { Witness } from '../floods/witness.ts';
import { Network } from '../stack/netns.ts';
import { skipUnless } from '../requirements.ts';

const SECONDS = 6;
/** Floods of each kind begin so long after those of the kind before: six at a time. */
const APART_SECONDS = 3;
const HOLD_MS = 3000;
const PEAK_ERROR = 0.05;
const DATED_MS = 500;

interface Seen {
  readonly attack: Attack;
  readonly openedAtMs: number;
  readonly endedKnownAtMs: number | null;
  readonly kinds: readonly AttackEvent['kind'][];
}

const targets = everyCampaign();
const seen = new Map<string, Seen>();

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

let sent: readonly Sent[] = [];
let again: readonly string[] = [];

function each(check: (target: Target, one: Seen, report: FloodReport) => string | null): void {
  const wrong = sent.flatMap(({ target, report }) => {
    if (target.type === null) return [];
    const one = seen.get(target.address);
    const why = one === undefined ? 'not seen' : check(target, one, report);
    return why === null ? [] : [`${target.name}: ${why}`];
  });
  assert.deepEqual(wrong, []);
}

describe('real floods, counted in the kernel of a real edge', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool']),
}, () => {
  const network = new Network('attacks');
  const witness = new Witness();
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
      onSample: detecting(),
    });
    const { ifindex } = linkOf(sender, 'v0');
    const { address: to } = linkOf(host, 'wan');
    const wire = { device: 'v0', ifindex, to };
    await pause(2000);
    ({ sent, again } = await sendCampaign({
      witness,
      holdMs: HOLD_MS,
      thenMs: 0,
      send: async (some) => {
        const reports = await sendFloods(sender, plansOf(some, wire, SECONDS, APART_SECONDS));
        await pause(HOLD_MS + 1000);
        return reports;
      },
    }));
  });
  after(async () => {
    witness.stop();
    await edge?.stop();
    network.destroy();
  });

  it('are each one record, named rightly', (t) => {
    if (again.length > 0) t.diagnostic(`the machine was busy; sent again: ${again.join(', ')}`);
    each(({ type }, { attack, kinds }) => {
      if (attack.type !== type) return `${attack.type} ${JSON.stringify(attack.shares)}`;
      return kinds.filter((kind) => kind === 'opened').length === 1 ? null : kinds.join(' ');
    });
  });

  it('are seen within 3 s at 1.2 times a threshold, and within 1.5 s at twice one', (t) => {
    const worst = new Map<number, number>();
    each(({ factor }, { openedAtMs }, { beganAtMs }) => {
      const tookMs = Math.round(openedAtMs - beganAtMs);
      worst.set(factor, Math.max(worst.get(factor) ?? 0, tookMs));
      return tookMs <= knownWithinMs(factor) ? null : `after ${tookMs} ms`;
    });
    t.diagnostic(`at most ${JSON.stringify([...worst])}`);
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

  it('end when they end, and that is known within the hold time', (t) => {
    let worst = 0;
    each((_, { attack, endedKnownAtMs }, { endedAtMs }) => {
      if (endedKnownAtMs === null || attack.endedAtMs === null) return 'goes on';
      const tookMs = Math.round(endedKnownAtMs - endedAtMs);
      worst = Math.max(worst, tookMs);
      const offMs = Math.abs(attack.endedAtMs - endedAtMs);
      return tookMs <= HOLD_MS && offMs <= DATED_MS
        ? null
        : `known after ${tookMs} ms, off by ${offMs} ms`;
    });
    t.diagnostic(`known after ${worst} ms at most`);
  });

  it('are distinguished from downloads and from players that rush in: nothing else is recorded', () => {
    const attacks = targets.filter(({ type }) => type !== null);
    const known = new Set(attacks.map(({ address }) => address));
    assert.deepEqual(
      [...seen.keys()].filter((subject) => !known.has(subject)),
      [],
    );
  });
});
