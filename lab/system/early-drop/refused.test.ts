import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { numberOf } from '@portcullis/dataplane/nftables/table/verdict-numbers.ts';
import { opening, testEdge } from '@portcullis/edge/testing/control.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { require } from '../../requirements.ts';
import { EarlyDropIn } from './early-drop-in.ts';

const [A, B, C] = ['203.0.113.10', '203.0.113.20', '203.0.113.30'];
const ROOM = 4;

const manyPorts = (target: string, count: number) => {
  const policy = opening(target, 443);
  const [allow, deny] = policy.rules;
  assert.ok(allow !== undefined && deny !== undefined);
  const ports = Array.from({ length: count }, (_, index) => ({ ...allow, port: 1_000 + index }));
  return { ...policy, rules: [...ports, deny] };
};

/** Open ports in the kernel, such as `203.0.113.10 tcp 443`. */
function openPorts(namespace: Namespace): string[] {
  const listed = namespace.run('nft', 'list', 'map', 'inet', 'portcullis', 'port4');
  const open = new RegExp(`([\\d.]+) \\. (\\w+) \\. (\\d+)[^,:]*: ${numberOf('accept')}\\b`, 'g');
  return [...listed.matchAll(open)]
    .map(([, address, protocol, port]) => `${address} ${protocol} ${port}`)
    .toSorted();
}

for (const early of [false, true]) {
  describe(`a policy that the kernel has no room for${early ? ', with early drop in front' : ''}`, () => {
    it('stays at its last good one, whole, and all others move on', async (t) => {
      if (!require(t, ['root', 'netns', 'nft', 'bpf'])) return;
      // Registered before the network is removed, so that the agent stops first.
      const { control, start } = testEdge(t);
      const network = new Network('refused');
      t.after(() => network.destroy());
      const namespace = network.create('edge');
      const real = namespace.within(() => createLibraryDriver());
      // The maps hold less than the edge assumes, so the kernel itself refuses.
      const small = (text: string): string => text.replaceAll(/size 96;/g, `size ${ROOM};`);
      const driver: Driver = { ...real, apply: (text) => real.apply(small(text)) };
      for (const target of [A, B]) control.policies.set(target, opening(target, 443));
      const earlyDrop = early ? EarlyDropIn.on(network, namespace) : null;
      /** The ports, of all that were ever open, that the early drop passes. */
      const passing = (address: string): number[] =>
        [80, 81, 82, 443, 1_000].filter((port) => earlyDrop?.passes(address, port));
      await start({ driver, ...(earlyDrop === null ? {} : { earlyDrop }) });
      assert.deepEqual((await control.confirmed()).refused, []);
      control.change([opening(A, 80), manyPorts(B, ROOM + 4), opening(C, 80)]);
      const { generation, refused } = await control.confirmed();
      assert.deepEqual(
        refused.map(({ target, goodGeneration }) => [target, goodGeneration]),
        [[B, 1]],
      );
      assert.match(refused[0]?.reason ?? '', /Too many open files|No space/);
      assert.equal(generation, control.generation);
      assert.deepEqual(openPorts(namespace), [`${A} tcp 80`, `${B} tcp 443`, `${C} tcp 80`]);
      if (early) assert.deepEqual([A, B, C].map(passing), [[80], [443], [80]]);
      if (earlyDrop !== null) assert.equal(earlyDrop.modeOf('wan').xdp, 'native');
      // Other addresses continue, the same policy stays refused, and a policy that fits is applied.
      control.change([opening(C, 81)]);
      assert.deepEqual(
        (await control.confirmed()).refused.map(({ target }) => target),
        [B],
      );
      control.change([opening(B, 82)]);
      assert.deepEqual((await control.confirmed()).refused, []);
      assert.deepEqual(openPorts(namespace), [`${A} tcp 80`, `${B} tcp 82`, `${C} tcp 81`]);
      if (early) assert.deepEqual([A, B, C].map(passing), [[80], [82], [81]]);
    });
  });
}
