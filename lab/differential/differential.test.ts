import { availableParallelism } from 'node:os';
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { STAGES } from '@portcullis/core/firewall/stages.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { require } from '../requirements.ts';
import { Draw, targetsOfRound } from './draw.ts';
import { actionOf, JudgedEdge } from './edge.ts';
import { expectedOf, stateOf } from './expected.ts';
import { PLAIN } from './frames.ts';
import { mutated } from './mutated.ts';
import { SYN_ACK } from './segments.ts';
import { LOCAL } from './wire.ts';

/**
 * The kernel's verdict on random packets under random policies equals the reference evaluator's, each time:
 * that of nftables, that of nftables behind the early drop, and the early drop alone drops nothing else. Twice: what
 * the rules let pass, and what gets to the server behind a SYN proxy (syn-proxy.ts).
 * A failure names its seed; the same seed draws the same run: PORTCULLIS_SEED=123.
 */
/** A round has 40 policies. Four have each pair of what the edge sees and where the early drop stands. */
const ROUNDS = repeated(4);
const POLICIES = 40 * ROUNDS;
const PACKETS_TO_EACH = 200;
const CHANGES_UNDER_TRAFFIC = 12;

describe('the verdict of the kernel', () => {
  it(`is that of the reference evaluator for ${POLICIES} policies and 200 packets to each`, async (t) => {
    await onEdge(t, async (edge, draw) => {
      const seen = { policies: 0, packets: 0, vanished: 0, alone: 0 };
      for (let round = 0; round < ROUNDS; round++) {
        const { targets, destinations } = targetsOfRound(round % 250);
        // Cut datagrams must be put together also where nothing of ours needs connections.
        const sees = round % 2 === 0 ? 'both' : 'inbound';
        const state = stateOf(draw.policies(targets), draw.sourceSets(), round, { sees });
        const packets = draw.packets(destinations, PACKETS_TO_EACH);
        await edge.apply(state);
        await edge.assertAgreement(state, packets);
        await edge.proxy.assertHandshakes(draw);
        await edge.putInFront(state, round % 4 < 2 ? 'native' : 'tc');
        seen.vanished += await edge.assertAgreement(state, packets);
        await edge.proxy.assertHandshakes(draw);
        edge.takeAway();
        seen.alone += edge.assertDropsNoMore(state, packets);
        seen.policies += targets.length;
        seen.packets += packets.length;
      }
      const early = Object.fromEntries(edge.earlyStages);
      t.diagnostic(
        JSON.stringify({
          ...seen,
          stages: Object.fromEntries(edge.stages),
          early,
          proxy: edge.proxy.seen,
        }),
      );
      assert.deepEqual(
        STAGES.map(({ name }) => name).filter((name) => !edge.stages.has(name)),
        // Its own test has connections. Limits are out of the way here.
        ['fragment-limits', 'return-traffic'],
      );
      assert.ok(seen.policies >= POLICIES && seen.packets >= POLICIES * PACKETS_TO_EACH);
      // It is there to drop: what it may judge is denied often enough.
      assert.ok(Math.min(seen.vanished, seen.alone) > seen.packets / 8);
      assert.ok((early['mitigations'] ?? 0) > 0, JSON.stringify(early));
      // About 10 to 70 of each by chance, seldom fewer.
      assert.ok(Math.min(...Object.values(edge.proxy.seen)) > 0, JSON.stringify(edge.proxy.seen));
    });
  });

  for (const early of [false, true]) {
    const where = early ? 'behind the early drop' : 'of nftables alone';

    it(`${where} is the same when policies came there change by change`, async (t) => {
      await onEdge(t, async (edge, draw) => {
        const { targets, destinations } = targetsOfRound(1);
        let policies = draw.policies(draw.some(targets, 20));
        let sets = draw.sourceSets();
        if (early) await edge.putInFront(stateOf(policies, sets, 0));
        for (let step = 1; step <= 12; step++) {
          const state = stateOf(policies, sets, step);
          await edge.apply(state);
          await edge.assertAgreement(state, draw.packets(destinations, 20));
          policies = mutated(draw, policies, targets);
          if (step % 4 === 3) sets = draw.sourceSets();
        }
      });
    });

    it(`${where} is as before or as after while policies change, but for packets inside the kernel at the commit`, async (t) => {
      await onEdge(t, async (edge, draw) => {
        const { targets, destinations } = targetsOfRound(4);
        let before = stateOf(draw.policies(targets), draw.sourceSets(), 0);
        await edge.apply(before);
        if (early) await edge.putInFront(before);
        const seen = { before: 0, after: 0 };
        const astray: string[] = [];
        for (let step = 1; step <= CHANGES_UNDER_TRAFFIC; step++) {
          const sets = step % 5 === 0 ? draw.sourceSets() : before.desired.sourceSets;
          const after = stateOf(mutated(draw, before.policies, targets), sets, step);
          const packets = draw.packets(destinations, 40);
          const judged = await edge.wire.judgeDuring(packets, () => edge.apply(after));
          for (const one of packets) {
            // Lost on the way: only the early drop drops before, and never the parts of a datagram.
            const mayBeDropped = early && one.form.cut === 'whole';
            if (judged.vanished.has(one) && !mayBeDropped) continue;
            const action = actionOf(judged, one);
            const [old, now] = [before, after].map((state) => expectedOf(state, one).action);
            const reported = {
              step,
              action,
              before: old,
              after: now,
              vanished: judged.vanished.has(one),
            };
            if (action !== old && action !== now) {
              astray.push(JSON.stringify({ ...reported, ...one }));
            } else if (old !== now) seen[action === old ? 'before' : 'after']++;
          }
          before = after;
        }
        t.diagnostic(JSON.stringify(seen));
        // A packet between two lookups at the commit finds the old map before it and the new one after it.
        assert.ok(astray.length <= availableParallelism(), astray.join('\n'));
        assert.ok(seen.before > 0 && seen.after > 0, 'nothing changed while packets arrived');
      });
    });

    it(`${where} passes replies to what the protected hosts opened, and nothing else of the same peers`, async (t) => {
      await onEdge(t, async (edge, draw) => {
        const { targets, destinations } = targetsOfRound(2);
        const state = stateOf(draw.policies(targets), draw.sourceSets(), 0);
        await edge.apply(state);
        if (early) await edge.putInFront(state);
        const local: readonly string[] = Object.values(LOCAL);
        const behind = destinations.filter((destination) => !local.includes(destination));
        const packets = draw
          .packets(behind, 20)
          .map((one) => ({ ...one, form: { ...PLAIN, flags: SYN_ACK } }))
          .filter(({ packet }) => packet.destinationPort !== null);
        const opened = packets.filter((_, index) => index % 2 === 0);
        await edge.wire.openFromBehind(opened.map(({ packet }) => draw.number(reversed(packet))));
        const replies = new Set(opened.map(({ packet }) => flowOf(packet)));
        await edge.assertAgreement(state, packets, (packet) => replies.has(flowOf(packet)));
        assert.ok(replies.size > 100);
      });
    });

    it(`${where} is that of each part alone where fragments are not put together`, async (t) => {
      await onEdge(t, async (edge, draw) => {
        // As Docker does: the kernel would put fragments together for it.
        edge.wire.trackConnections();
        const { targets, destinations } = targetsOfRound(3);
        const change = { sees: early ? 'both' : 'inbound', fragments: 'limit' } as const;
        const state = stateOf(draw.policies(targets), draw.sourceSets(), 0, change);
        await edge.apply(state);
        if (early) await edge.putInFront(state);
        await edge.assertAgreement(state, draw.parts(destinations, 100));
      });
    });
  }
});

async function onEdge(
  t: TestContext,
  run: (edge: JudgedEdge, draw: Draw) => Promise<void>,
): Promise<void> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'conntrack', 'ethtool', 'python3'])) return;
  const seed = Number(process.env['PORTCULLIS_SEED'] ?? randomInt(1, 2 ** 30));
  t.diagnostic(`PORTCULLIS_SEED=${seed}`);
  const edge = new JudgedEdge();
  try {
    await run(edge, new Draw(seed));
  } finally {
    edge.destroy();
  }
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
