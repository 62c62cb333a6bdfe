import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Attack, PresentType } from '../attack.ts';
import type { MitigationAction } from '../mitigation/actions.ts';
import type { AttackTops } from '../mitigation/plan-mitigations.ts';
import { REFLECTORS } from '../vectors.ts';
import { sampledTops, seeded, type Sent } from './tops.ts';

/** A planner of mitigations: that of control, or of an edge alone. The threshold is 2,000 packets/s. */
export interface MitigationPlanner {
  /**
   * An attack of these types on this subject is reported with its tops, or ends (null). Returns the actions in force then,
   * without an order.
   */
  report(attack: ReportedAttack | null, tops: AttackTops | null): Promise<Actions>;
}
type Actions = readonly MitigationAction[];
export type ReportedAttack = Pick<Attack, 'subject' | 'type' | 'shares' | 'present'>;

const ADDRESS = '203.0.113.10';
const CARPET = '203.0.113.0/24';
const FLOOD_SECONDS = 2;
const DRAWS = 40;

function attackOf(subject: string, ...present: PresentType[]): ReportedAttack {
  const [first = 'other_flood'] = present;
  const type = first === 'tcp_other_flood' ? 'other_flood' : first;
  return { subject, type, shares: [{ type, share: 1 }], present };
}

/** Traffic of two seconds. */
function sent(pps: number, rest: Omit<Sent, 'packets'>): Sent {
  return { ...rest, packets: pps * FLOOD_SECONDS };
}

const forged = (pps: number, protocol: 'tcp' | 'udp' = 'udp', port = 0): Sent =>
  sent(pps, { protocol, port });

function named(actions: Actions): string[] {
  return actions.flatMap((one) => (one.kind === 'source' ? one.source : []));
}

/** The protocol of each limit; a filter has one too. */
function protocols(actions: Actions): string[] {
  const all = actions.flatMap((one) => {
    if (one.kind === 'filter') return one.type === 'tcp-syn-proxy' ? 'tcp' : 'udp';
    return one.kind === 'limit' || one.kind === 'source' ? one.protocol : one.kind;
  });
  return [...new Set(all)].toSorted();
}

function isPerSource(one: MitigationAction): boolean {
  return one.kind === 'limit' && one.limit.per === 'source';
}

/** The guarantees of every planner. `fresh` makes one without an attack. */
export function plannerSuite(fresh: () => MitigationPlanner): void {
  const draws = async (
    seen: readonly Sent[],
    attack: ReportedAttack,
    check: (actions: Actions) => void,
    knows = true,
  ): Promise<void> => {
    for (let seed = 1; seed <= DRAWS; seed += 1) {
      const random = seeded(seed);
      const samples = 20 + Math.floor(random() * 236);
      const planner = fresh();
      check(await planner.report(attack, sampledTops(seen, { samples, random, knows })));
    }
  };

  it('name no real client of a carpet, however few packets were sampled', async () => {
    const player = sent(144, { source: '100.64.9.58', protocol: 'udp', port: 27_015, answered: 1 });
    const slow = sent(20, { source: '100.64.9.10', protocol: 'udp', port: 27_015, answered: 1 });
    const none = (all: Actions) => assert.deepEqual(named(all), []);
    await draws([forged(3_000), player, slow], attackOf(CARPET, 'udp_flood'), none);
    await draws([forged(3_000, 'tcp', 80), player, slow], attackOf(CARPET, 'tcp_syn_flood'), none);
    const busy = { ...player, packets: 400 * FLOOD_SECONDS };
    await draws([forged(3_000), busy], attackOf(CARPET, 'udp_flood'), none);
  });

  it('name a source that floods in answered UDP flows, as from the port of a player', async () => {
    const source = '100.64.9.58';
    const flood = sent(6_000, { source, protocol: 'udp', port: 27_015, answered: 1 });
    const tops = sampledTops([flood, forged(400)], { samples: 256, random: seeded(1) });
    assert.deepEqual(named(await fresh().report(attackOf(ADDRESS, 'udp_flood'), tops)), [source]);
  });

  it('name few sources of a flood by the protocol of the attack, and none by another', async () => {
    const source = '198.51.100.66';
    const bot = sent(3_000, { source, protocol: 'tcp', port: 80 });
    const pings = sent(3_000, { source: '198.51.100.67', protocol: 'icmp' });
    await draws([bot, pings], attackOf(ADDRESS, 'tcp_syn_flood', 'icmp_flood'), (all) => {
      assert.ok(named(all).every((one) => one === source));
    });
    const planner = fresh();
    const tops = sampledTops([bot, pings], { samples: 256, random: seeded(1) });
    const all = await planner.report(attackOf(ADDRESS, 'tcp_syn_flood'), tops);
    assert.deepEqual(
      all.filter(({ kind }) => kind === 'source'),
      [{ kind: 'source', source, protocol: 'tcp' }],
    );
  });

  it('name no source whose handshakes complete, but a flood beside them', async () => {
    const crowd = Array.from({ length: 12 }, (_, index) =>
      sent(300, { source: `100.66.0.${index}`, protocol: 'tcp', port: 80, answered: 0.8 }),
    );
    const syn = attackOf(ADDRESS, 'tcp_syn_flood');
    await draws(crowd, syn, (all) => {
      assert.deepEqual(named(all), []);
    });
    const bot = sent(4_000, { source: '198.51.100.66', protocol: 'tcp', port: 80 });
    const tops = sampledTops([bot, ...crowd], { samples: 256, random: seeded(1) });
    assert.deepEqual(named(await fresh().report(syn, tops)), ['198.51.100.66']);
  });

  it('hold real sources that flood in connections they have opened to a rate each', async () => {
    const bots = [1, 2, 3].map((index) =>
      sent(4_000, { source: `198.51.100.${index}`, protocol: 'tcp', port: 80, answered: 0.99 }),
    );
    const tops = sampledTops(bots, { samples: 256, random: seeded(1) });
    const all = await fresh().report(attackOf(ADDRESS, 'tcp_ack_flood'), tops);
    const limits = all.filter(isPerSource);
    assert.deepEqual([limits.length, protocols(limits)], [1, ['tcp']]);
    const forgedTops = sampledTops([forged(9_000, 'tcp', 80)], { samples: 256, random: seeded(1) });
    const others = await fresh().report(attackOf(ADDRESS, 'tcp_ack_flood'), forgedTops);
    assert.ok(!others.some(isPerSource));
  });

  it('are those of all types that are present, and only of those', async () => {
    const planner = fresh();
    const both = await planner.report(attackOf(ADDRESS, 'udp_flood', 'tcp_syn_flood'), null);
    assert.deepEqual(protocols(both), ['tcp', 'udp']);
    const rest = await planner.report(attackOf(ADDRESS, 'tcp_syn_flood'), null);
    assert.deepEqual(protocols(rest), ['tcp']);
  });

  it('get the port of a flood when it becomes known', async () => {
    const planner = fresh();
    const syn = attackOf(ADDRESS, 'tcp_syn_flood');
    await planner.report(syn, null);
    const tops = sampledTops([forged(6_000, 'tcp', 80)], { samples: 100, random: seeded(1) });
    const all = await planner.report(syn, tops);
    const filters = all.filter(({ kind }) => kind === 'filter');
    assert.deepEqual(filters, [{ kind: 'filter', type: 'tcp-syn-proxy', port: 80 }]);
  });

  it('limit only TCP against TCP with invalid flags', async () => {
    const all = await fresh().report(attackOf(ADDRESS, 'tcp_other_flood'), null);
    assert.deepEqual(protocols(all), ['tcp']);
  });

  it('drop answers of Plex and ARMS by their ports', async () => {
    for (const reflector of ['plex', 'arms'] as const) {
      const all = await fresh().report(attackOf(ADDRESS, `${reflector}_amplification`), null);
      assert.deepEqual(all[0], { kind: 'reflector', reflector });
    }
    assert.deepEqual([REFLECTORS.plex, REFLECTORS.arms], [32_414, 3283]);
  });

  it('of a record that resumes are planned from what comes now', async () => {
    const planner = fresh();
    const source = '198.51.100.66';
    const bot = sent(6_000, { source, protocol: 'udp', port: 27_015 });
    const tops = sampledTops([bot], { samples: 256, random: seeded(1) });
    const first = await planner.report(attackOf(ADDRESS, 'udp_flood'), tops);
    assert.deepEqual(named(first), [source]);
    assert.deepEqual(await planner.report(null, null), []);
    const again = await planner.report(attackOf(ADDRESS, 'icmp_flood'), null);
    assert.deepEqual(protocols(again), ['icmp']);
  });
}
