import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { compilePolicy } from '@portcullis/dataplane/nftables/policy/compile.ts';
import { planLayout } from '@portcullis/dataplane/nftables/table/layout.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { renderWhole } from '@portcullis/dataplane/nftables/table/render.ts';
import {
  createInternet,
  EDGE_DEVICE,
  type Internet,
  SENTINELS,
  SERVER,
} from '../../stack/internet.ts';
import { Path } from '../../wire/path.ts';
import { Probe, type ProbePacket } from '../../wire/probe.ts';
import { packet, whyNot } from '../stack-fixture.ts';

const RATE = 20;

let internet: Internet;
let path: Path;
const undo: (() => Promise<void> | void)[] = [];

describe('ICMP to addresses that deny everything', { skip: whyNot() }, () => {
  before(async () => {
    internet = createInternet('icmp');
    undo.push(() => internet.destroy());
    const client = await new Probe(internet.client).started();
    undo.push(() => client.stop());
    const server = await new Probe(internet.server).started();
    undo.push(() => server.stop());
    path = new Path(client, server, SENTINELS.server);
    await denyEverything();
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it('drops echo requests, and what nothing needs', async () => {
    for (const icmp of [
      [8, 0],
      [3, 1],
      [5, 0],
      [13, 0],
    ] as const) {
      assert.equal(await path.passes(packet(4, 'icmp', { icmp })), false, icmp.join());
    }
    for (const icmp of [
      [128, 0],
      [1, 0],
      [4, 0],
    ] as const) {
      assert.equal(await path.passes(packet(6, 'icmpv6', { icmp })), false, icmp.join());
    }
  });

  it('passes required ICMP errors up to their rate, and evaluates the rest', async () => {
    const kinds = [
      packet(4, 'icmp', { icmp: [3, 4] }),
      packet(4, 'icmp', { icmp: [11, 0] }),
      packet(6, 'icmpv6', { icmp: [2, 0] }),
      packet(6, 'icmpv6', { icmp: [3, 0] }),
    ];
    for (const kind of kinds) assert.equal(await path.passes(kind), true, JSON.stringify(kind));
    await flood(packet(6, 'icmpv6', { icmp: [2, 0] }));
  });

  it('believes neighbour discovery only with the hop limit of the own link, on a rate of its own', async () => {
    for (const type of [133, 134, 135, 136, 137]) {
      const discovery = (hopLimit: number): ProbePacket =>
        packet(6, 'icmpv6', { icmp: [type, 0], hopLimit });
      assert.equal(await path.passes(discovery(255)), true, `type ${type}`);
      assert.equal(await path.passes(discovery(254)), false, `type ${type} from afar`);
    }
    await flood(packet(4, 'icmp', { icmp: [3, 4] }));
    const one = packet(6, 'icmpv6', { icmp: [135, 0], hopLimit: 255 });
    assert.equal(await path.passes(one), true, 'starved by errors');
  });
});

/** At most one second's burst plus the rate passes; none if an earlier flood used it up. */
async function flood(kind: ProbePacket): Promise<void> {
  const begin = performance.now();
  let passed = 0;
  for (let sent = 0; sent < RATE * 10; sent += 1) if (await path.passes(kind)) passed += 1;
  const seconds = (performance.now() - begin) / 1000;
  assert.ok(passed <= RATE * (seconds + 1) + 1, `${passed} passed in ${seconds} s`);
  assert.ok(passed < RATE * 10, 'all passed');
}

async function denyEverything(): Promise<void> {
  const all = { ref: 'rule:1', action: 'deny', protocol: 'any', port: null, source: null } as const;
  const targets = new Map(
    [SERVER[4], SERVER[6]].map((target) => [
      target,
      compilePolicy({ ...EMPTY_POLICY, target, rules: [all] }),
    ]),
  );
  const rules = {
    devices: [EDGE_DEVICE],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
    ...DEFAULT_LIMITS,
    icmpRates: { errors: RATE, neighbours: RATE },
  } as const;
  const driver = createNftDriver({ command: internet.edge.command('nft') });
  await driver.apply(renderWhole(planLayout(rules, targets, { version: '', sets: {} })).text);
}
