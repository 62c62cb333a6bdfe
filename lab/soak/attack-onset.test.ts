import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import { dropAtIngress, linkOf } from '../bench/generator/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import { WatchedEdge } from '../floods/watched-edge.ts';
import { Network } from '../stack/netns.ts';
import { skipUnless } from '../requirements.ts';

/** Thresholds of a prefix as of each of its addresses. */
const THRESHOLDS = { pps: 2000, bps: 1e9, holdMs: 3000 } as const;
const NETWORKS = ['203.0.113.0/24', '2001:db8:5::/64'] as const;
const KINDS = ['udp', 'syn', 'dns'] as const;
const FACTORS = [2, 10, 2, 10, 2, 10] as const;
const FLOOD_SECONDS = 2;
/** Nobody is above a prefix's threshold while what is usual for it is learnt. */
const LEARNING_MS = 31_000;
/**
 * Longer than the detector's short past; and begins differ by any part of a bucket, and of what the kernel calls an
 * epoch.
 */
const APART_MS = 2_000;
const ANY_PART_MS = 540;

describe('floods on three addresses of a prefix at once, each above the threshold that the prefix has too', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool']),
}, () => {
  const network = new Network('onset');
  const opened = new Set<string>();
  let edge: WatchedEdge | null = null;
  let wave: (round: number, factor: number) => Promise<string[]>;

  before(async () => {
    // Control is in this process.
    setPriority(-10);
    const sender = network.create('sender');
    const host = network.create('edge');
    network.join(sender, { device: 'v0', addresses: [] }, host, {
      device: 'wan',
      addresses: ['203.0.113.1/24', '2001:db8:5::1/64'],
    });
    for (const [where, device] of [[sender, 'v0'] as const, [host, 'wan'] as const]) {
      where.run('ethtool', '-K', device, 'gro', 'on');
    }
    host.run('nft', dropAtIngress('wan'));
    let state: DetectorState = INITIAL;
    const settings = { thresholdsOf: () => THRESHOLDS, maxSubjects: 1000 };
    edge = await WatchedEdge.start(host, {
      device: 'wan',
      scopes: NETWORKS.map((scope) => ({
        ...THRESHOLDS,
        scope,
        mitigation: 'off',
        safelist: [],
        subject: true,
      })),
      onSample: (sample) => {
        const stepped = step(state, sample, settings);
        state = stepped.state;
        for (const { kind, attack } of stepped.events)
          if (kind === 'opened') opened.add(attack.subject);
      },
    });
    const { ifindex } = linkOf(sender, 'v0');
    const { address: to } = linkOf(host, 'wan');
    wave = async (round, factor) => {
      const plans = KINDS.flatMap((kind, index) => {
        const last = 10 + round * KINDS.length + index;
        return [`203.0.113.${last}`, `2001:db8:5::${last}`].map((target) => ({
          name: target,
          kind,
          target,
          to,
          device: 'v0',
          ifindex,
          pps: THRESHOLDS.pps * factor,
          seconds: FLOOD_SECONDS,
        }));
      });
      await sendFloods(sender, plans);
      return plans.map(({ target }) => target);
    };
    await pause(LEARNING_MS);
  });
  after(async () => {
    await edge?.stop();
    network.destroy();
  });

  it('are records of these addresses, and none of the prefix, whenever they begin', async () => {
    const targets: string[] = [];
    for (const [round, factor] of FACTORS.entries()) {
      await pause(APART_MS + Math.random() * ANY_PART_MS);
      targets.push(...(await wave(round, factor)));
    }
    assert.deepEqual([...opened].toSorted(), targets.toSorted());
  });
});
