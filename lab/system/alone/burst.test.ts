import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { openRuleset } from '@portcullis/dataplane/nftables/ruleset.ts';
import { numberOf } from '@portcullis/dataplane/nftables/table/verdict-numbers.ts';
import { watched } from '@portcullis/dataplane/nftables/watch.ts';
import { opening, testEdge, type TestEdge } from '@portcullis/edge/testing/control.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { type Need, require } from '../../requirements.ts';
import { EarlyDropIn } from '../early-drop/early-drop-in.ts';

const NEEDS: readonly Need[] = ['root', 'netns', 'nft', 'bpf'];
const CHANGES = 10_000;
const SAME = 1_000;

const address = (index: number): string => `10.0.${index >> 8}.${index & 255}`;

interface Running extends TestEdge {
  readonly namespace: Namespace;
  readonly applies: () => number;
  readonly earlyDrop: EarlyDropIn | null;
}

/** An agent in its own network namespace. */
async function prepare(t: TestContext, hosts: number, early: boolean): Promise<Running> {
  const network = new Network('burst');
  const namespace = network.create('edge');
  const edge = testEdge(t);
  t.after(() => network.destroy());
  const driver = namespace.within(() => watched(createLibraryDriver(), openRuleset()));
  let applies = 0;
  const counting = {
    ...driver,
    change: (change: Parameters<typeof driver.change>[0]) => {
      if (change.text !== '') applies++;
      return driver.change(change);
    },
  };
  for (let host = 0; host < hosts; host++) {
    edge.control.policies.set(address(host), opening(address(host), 443));
  }
  const earlyDrop = early ? EarlyDropIn.on(network, namespace) : null;
  await edge.start({ driver: counting, ...(earlyDrop === null ? {} : { earlyDrop }) });
  await edge.control.confirmed();
  return { ...edge, namespace, applies: () => applies, earlyDrop };
}

/** The open port of each address in the kernel. */
function openPorts(namespace: Namespace): Map<string, string[]> {
  const listed = namespace.run('nft', 'list', 'map', 'inet', 'portcullis', 'port4');
  const ports = new Map<string, string[]>();
  const open = new RegExp(`([\\d.]+) \\. tcp \\. (\\d+)[^,:]*: ${numberOf('accept')}\\b`, 'g');
  for (const [, host = '', port = ''] of listed.matchAll(open)) {
    ports.set(host, [...(ports.get(host) ?? []), port]);
  }
  return ports;
}

for (const early of [false, true]) {
  describe(`many changes${early ? ', with early drop in front' : ''}`, () => {
    it(`${CHANGES} in a burst are all in the kernel when the last is confirmed`, async (t) => {
      if (!require(t, NEEDS)) return;
      const { control, namespace, applies, earlyDrop } = await prepare(t, CHANGES, early);
      const begin = performance.now();
      for (let host = 0; host < CHANGES; host++)
        control.change([opening(address(host), 8_000 + (host % 100))]);
      assert.deepEqual((await control.confirmed()).refused, []);
      t.diagnostic(`${Math.round(performance.now() - begin)} ms, ${applies()} transactions`);
      assert.ok(applies() < CHANGES / 100, `${applies()}`);
      const ports = openPorts(namespace);
      assert.equal(ports.size, CHANGES);
      for (let host = 0; host < CHANGES; host++) {
        assert.deepEqual(ports.get(address(host)), [String(8_000 + (host % 100))]);
        if (earlyDrop === null) continue;
        const passing = [443, 8_000, 8_001 + (host % 100), 8_000 + (host % 100)].filter((port) =>
          earlyDrop.passes(address(host), port),
        );
        assert.deepEqual(new Set(passing), new Set([8_000 + (host % 100)]));
      }
      assert.deepEqual(earlyDrop?.problems() ?? [], []);
    });

    it(`${SAME} of one address, each confirmed, leave it at the last, and nobody else touched`, async (t) => {
      if (!require(t, NEEDS)) return;
      const { control, namespace, applies, earlyDrop } = await prepare(t, 100, early);
      const tookMs: number[] = [];
      for (let round = 1; round <= SAME; round++) {
        const begin = performance.now();
        control.change([opening(address(7), round)]);
        await control.confirmed();
        tookMs.push(performance.now() - begin);
      }
      const middle = tookMs.toSorted((a, b) => a - b)[SAME / 2] ?? 0;
      t.diagnostic(`${middle.toFixed(1)} ms from news to confirmation in the middle`);
      assert.equal(applies(), SAME);
      const ports = openPorts(namespace);
      assert.deepEqual(ports.get(address(7)), [String(SAME)]);
      assert.equal([...ports.values()].filter((list) => list.join() === '443').length, 99);
      if (earlyDrop === null) return;
      assert.equal(earlyDrop.modeOf('wan').xdp, 'native');
      const passing = (host: number) =>
        [443, SAME - 1, SAME].filter((port) => earlyDrop.passes(address(host), port));
      assert.deepEqual([passing(7), passing(8)], [[SAME], [443]]);
    });
  });
}
