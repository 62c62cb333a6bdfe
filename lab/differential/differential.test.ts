import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { EdgeLimits } from '@portcullis/edge/nftables/base-chain.ts';
import { createLibraryDriver } from '@portcullis/edge/nftables/library.ts';
import { Reconciler } from '@portcullis/edge/reconcile.ts';
import { require } from '../requirements.ts';
import { Draw, targetsOfRound } from './draw.ts';
import { expectedOf, type State, stateOf } from './expected.ts';
import { type Numbered, PLAIN } from './frames.ts';
import { JudgedWire, LOCAL } from './wire.ts';

/**
 * The kernel's verdict on random packets under random policies equals the reference evaluator's, each time.
 * A failure names its seed; the same seed draws the same run: PORTCULLIS_SEED=123.
 */
const ROUNDS = 10;
const PACKETS_TO_EACH = 200;

describe('the verdict of the kernel', () => {
  it('is that of the reference evaluator for 400 policies and 200 packets to each', async (t) => {
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
      assert.ok(policiesSeen >= 400 && judged >= 400 * PACKETS_TO_EACH);
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
        policies = mutated(draw, policies, targets);
        if (step % 4 === 3) sets = draw.sourceSets();
      }
    });
  });

  it('is that of the policies before or after while they change, and never anything else', async (t) => {
    await onWire(t, async (wire, draw) => {
      const reconciler = reconcilerOn(wire);
      const { targets, destinations } = targetsOfRound(4);
      let before = stateOf(draw.policies(targets), draw.sourceSets(), 0);
      await reconciler.apply(before.desired);
      const seen = { before: 0, after: 0 };
      for (let step = 1; step <= 20; step++) {
        const policies = mutated(draw, before.policies, targets);
        const sets = step % 5 === 0 ? draw.sourceSets() : before.desired.sourceSets;
        const after = stateOf(policies, sets, step);
        const { arrived, passed } = await wire.judgeDuring(draw.packets(destinations, 40), () =>
          reconciler.apply(after.desired),
        );
        for (const numbered of arrived) {
          const action = passed.has(numbered.id) ? 'pass' : 'drop';
          const [old, now] = [before, after].map((state) => expectedOf(state, numbered).action);
          assert.ok(action === old || action === now, JSON.stringify(numbered));
          if (old !== now) seen[action === old ? 'before' : 'after']++;
        }
        before = after;
      }
      t.diagnostic(`judged as before ${seen.before}, as after ${seen.after}`);
      assert.ok(seen.before > 0 && seen.after > 0, 'nothing changed while packets arrived');
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
        .map((one) => ({ ...one, form: PLAIN }))
        .filter(({ packet }) => packet.destinationPort !== null);
      const opened = packets.filter((_, index) => index % 2 === 0);
      await wire.openFromBehind(opened.map(({ packet }) => draw.number(reversed(packet))));
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
      await assertAgreement(wire, state, draw.parts(destinations, 100));
    });
  });
});

/** Some policies gone, some others in their place. */
function mutated(draw: Draw, policies: readonly Policy[], targets: readonly string[]): Policy[] {
  const gone = new Set(draw.some(targets, 8));
  const fresh = draw.policies(draw.some(targets, 8));
  for (const { target } of fresh) gone.add(target);
  return [...policies.filter(({ target }) => !gone.has(target)), ...fresh];
}

async function onWire(
  t: TestContext,
  run: (wire: JudgedWire, draw: Draw) => Promise<void>,
): Promise<void> {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return;
  const seed = Number(process.env['PORTCULLIS_SEED'] ?? randomInt(1, 2 ** 30));
  t.diagnostic(`PORTCULLIS_SEED=${seed}`);
  const wire = await JudgedWire.build();
  try {
    await run(wire, new Draw(seed));
  } finally {
    await wire.destroy();
  }
}

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

function reconcilerOn(wire: JudgedWire): Reconciler {
  return new Reconciler(
    wire.edge.within(() => createLibraryDriver()),
    NO_LIMITS,
  );
}

/** Answers how many packets were compared. */
async function assertAgreement(
  wire: JudgedWire,
  state: State,
  packets: readonly Numbered[],
  returnTraffic: (packet: Packet) => boolean = () => false,
): Promise<number> {
  const passed = await wire.judge(packets);
  const wrong = packets.flatMap((numbered) => {
    const expected = expectedOf(state, numbered, returnTraffic(numbered.packet));
    const kernel = passed.has(numbered.id) ? 'pass' : 'drop';
    return kernel === expected.action ? [] : [{ kernel, expected, ...numbered }];
  });
  const policy = wrong[0] && state.edge.policies.lookup(wrong[0].packet.destination);
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
