import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { decide } from '@portcullis/core/firewall/decide.ts';
import type { EdgeSettings, Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import type { Desired } from '@portcullis/edge/desired.ts';
import type { EdgeLimits } from '@portcullis/edge/nftables/base-chain.ts';
import { createLibraryDriver } from '@portcullis/edge/nftables/library.ts';
import { Reconciler } from '@portcullis/edge/reconcile.ts';
import { require } from '../requirements.ts';
import { Draw, targetsOfRound } from './draw.ts';
import type { Numbered } from './frames.ts';
import { JudgedWire, LOCAL } from './wire.ts';

/**
 * The kernel's verdict on random packets under random policies equals the reference evaluator's, each time.
 * A failure names its seed; the same seed draws the same run: PORTCULLIS_SEED=123.
 */
const ROUNDS = 5;
const PACKETS_TO_EACH = 200;
const MANAGEMENT = [
  { protocol: 'tcp', port: 22 },
  { protocol: 'udp', port: 23 },
] as const;
/** So high that there is always room. */
const ROOM = 1_000_000;
const NO_LIMITS: EdgeLimits = {
  icmpRates: { errors: ROOM, neighbours: ROOM },
  fragmentLimits: {
    strangersPerDestination: ROOM,
    strangers: ROOM,
    knownPair: ROOM,
    knownPerDestination: ROOM,
    known: ROOM,
    unprotected: ROOM,
  },
};

describe('the verdict of the kernel', () => {
  it('is that of the reference evaluator for 200 policies and 200 packets to each', async (t) => {
    await onWire(t, async (wire, draw) => {
      const reconciler = reconcilerOn(wire);
      let judged = 0;
      let policiesSeen = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const { targets, destinations } = targetsOfRound(round);
        // Cut datagrams must be put together also where nothing of ours needs connections.
        const sees = round % 2 === 0 ? 'both' : 'inbound';
        const state = stateOf(draw.policies(targets), draw.sourceSets(), round, { sees });
        await reconciler.apply(state.desired);
        judged += await assertAgreement(wire, state, draw.packets(destinations, PACKETS_TO_EACH));
        policiesSeen += targets.length;
      }
      assert.ok(policiesSeen >= 200 && judged >= 200 * PACKETS_TO_EACH);
    });
  });

  it('is the same when policies came there change by change', async (t) => {
    await onWire(t, async (wire, draw) => {
      const reconciler = reconcilerOn(wire);
      const { targets, destinations } = targetsOfRound(1);
      let policies = draw.policies(draw.some(targets, 20));
      let sets = draw.sourceSets();
      for (let step = 0; step < 12; step++) {
        const state = stateOf(policies, sets, step);
        await reconciler.apply(state.desired);
        await assertAgreement(wire, state, draw.packets(destinations, 20));
        const gone = new Set(draw.some(targets, 8));
        const fresh = draw.policies(draw.some(targets, 8));
        for (const { target } of fresh) gone.add(target);
        policies = [...policies.filter(({ target }) => !gone.has(target)), ...fresh];
        if (step % 4 === 3) sets = draw.sourceSets();
      }
    });
  });

  it('passes replies to what the protected hosts opened, and nothing else of the same peers', async (t) => {
    await onWire(t, async (wire, draw) => {
      const { targets, destinations } = targetsOfRound(2);
      const state = stateOf(draw.policies(targets), draw.sourceSets(), 0);
      await reconcilerOn(wire).apply(state.desired);
      const local: readonly string[] = Object.values(LOCAL);
      const behind = destinations.filter((destination) => !local.includes(destination));
      const packets = draw
        .packets(behind, 20)
        .filter(({ packet, cut }) => packet.destinationPort !== null && !cut);
      const opened = packets.filter((_, index) => index % 2 === 0);
      wire.openFromBehind(opened.map(({ packet }) => draw.number(reversed(packet))));
      const replies = new Set(opened.map(({ packet }) => flowOf(packet)));
      await assertAgreement(wire, state, packets, (packet) => replies.has(flowOf(packet)));
      assert.ok(replies.size > 100);
    });
  });

  it('is that of each part alone where fragments are not put together', async (t) => {
    await onWire(t, async (wire, draw) => {
      // As Docker does: the kernel would put fragments together for it.
      wire.trackConnections();
      const { targets, destinations } = targetsOfRound(3);
      const state = stateOf(draw.policies(targets), draw.sourceSets(), 0, {
        sees: 'inbound',
        fragments: 'limit',
      });
      await reconcilerOn(wire).apply(state.desired);
      const packets = draw.packets(destinations, 60).map((one, index): Numbered => {
        const later = {
          ...one.packet,
          sourcePort: null,
          destinationPort: null,
          icmp: null,
          fragment: 'later',
        } as const;
        const packet = [one.packet, { ...one.packet, fragment: 'first' as const }, later][
          index % 3
        ] as Packet;
        return { ...one, packet, cut: false };
      });
      await assertAgreement(wire, state, packets);
    });
  });
});

interface State {
  readonly desired: Desired;
  readonly policies: readonly Policy[];
  readonly settings: EdgeSettings;
}

async function onWire(
  t: TestContext,
  run: (wire: JudgedWire, draw: Draw) => Promise<void>,
): Promise<void> {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return;
  const seed = Number(process.env['PORTCULLIS_SEED'] ?? randomInt(1, 2 ** 30));
  t.diagnostic(`PORTCULLIS_SEED=${seed}`);
  const wire = new JudgedWire();
  try {
    await run(wire, new Draw(seed));
  } finally {
    wire.destroy();
  }
}

function reconcilerOn(wire: JudgedWire): Reconciler {
  return new Reconciler(
    wire.edge.within(() => createLibraryDriver()),
    NO_LIMITS,
  );
}

function stateOf(
  policies: readonly Policy[],
  sourceSets: SourceSets,
  generation: number,
  change: Partial<Pick<EdgeSettings, 'sees' | 'fragments'>> = {},
): State {
  const settings = {
    management: MANAGEMENT,
    sees: 'both',
    fragments: 'reassemble',
    ...change,
  } as const;
  const desired: Desired = {
    generation: generation + 1,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets,
    settings: { ...settings, name: 'fra1', site: 'fra', devices: ['wan', 'not-there'] },
  };
  return { desired, policies, settings: { ...settings, localAddresses: Object.values(LOCAL) } };
}

/** Answers how many packets were compared. */
async function assertAgreement(
  wire: JudgedWire,
  { desired, policies, settings }: State,
  packets: readonly Numbered[],
  returnTraffic: (packet: Packet) => boolean = () => false,
): Promise<number> {
  const edge = { settings, policies: createPolicyTable(policies), sourceSets: desired.sourceSets };
  const passed = await wire.judge(packets);
  const wrong = packets.flatMap(({ id, packet, cut }) => {
    const expected = decide(edge, packet, {
      returnTraffic: returnTraffic(packet),
      icmpWithinRate: true,
      fragmentsWithinLimit: true,
      filters: {},
    });
    const action = passed.has(id) ? 'pass' : 'drop';
    return action === expected.action ? [] : [{ kernel: action, expected, cut, packet }];
  });
  const policy = wrong[0] && edge.policies.lookup(wrong[0].packet.destination);
  assert.equal(
    wrong.length,
    0,
    `${wrong.length} of ${packets.length}, the first ${JSON.stringify({ ...wrong[0], policy }, null, 1)}`,
  );
  return packets.length;
}

function reversed(packet: Packet): Packet {
  const { source, destination, sourcePort, destinationPort } = packet;
  return {
    ...packet,
    source: destination,
    destination: source,
    sourcePort: destinationPort,
    destinationPort: sourcePort,
  };
}

function flowOf({ protocol, source, sourcePort, destination, destinationPort }: Packet): string {
  return [protocol, source, sourcePort, destination, destinationPort].join(' ');
}
