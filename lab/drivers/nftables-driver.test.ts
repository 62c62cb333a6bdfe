import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { edgeRules } from '@portcullis/dataplane/testing/policies.ts';
import { type CompiledTarget } from '@portcullis/dataplane/nftables/policy/compiled.ts';
import { compilePolicy } from '@portcullis/dataplane/nftables/policy/compile.ts';
import { planLayout } from '@portcullis/dataplane/nftables/table/layout.ts';
import { renderDelta, renderWhole } from '@portcullis/dataplane/nftables/table/render.ts';
import { renderRewrite } from '@portcullis/dataplane/nftables/table/rewrite.ts';
import { driverSuite } from '@portcullis/dataplane/nftables/driver-suite.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { Draw, targetsOfRound } from '../differential/draw.ts';
import { type Namespace, Network } from '../stack/netns.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'netns', 'nft']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const WAYS: Readonly<Record<string, (namespace: Namespace) => Driver>> = {
  'the nft command': (namespace) => createNftDriver({ command: namespace.command('nft') }),
  libnftables: (namespace) => namespace.within(() => createLibraryDriver()),
};

for (const [way, create] of Object.entries(WAYS)) {
  describe(`the kernel through ${way}`, { skip: lacking ?? false }, () => {
    const network = new Network('driver');
    let namespace: Namespace;
    before(() => {
      namespace = network.create('edge');
    });
    after(() => network.destroy());

    driverSuite(() => {
      namespace.run('nft', 'flush', 'ruleset');
      return create(namespace);
    });

    it('has after many changes what a whole table of the last would be', async () => {
      const draw = new Draw(randomInt(2 ** 31));
      const { targets } = targetsOfRound(1);
      namespace.run('nft', 'flush', 'ruleset');
      const driver = create(namespace);
      const rules = edgeRules();
      const sets = draw.sourceSets();
      let policies = new Map<string, CompiledTarget>();
      let before = planLayout(rules, policies, sets);
      let { text, sizes } = renderWhole(before);
      await driver.apply(text);
      for (let step = 0; step < 10; step++) {
        policies = new Map(policies);
        for (const target of draw.some(targets, 10)) policies.delete(target);
        for (const policy of draw.policies(draw.some(targets, 10))) {
          policies.set(policy.target, compilePolicy(policy));
        }
        const layout = planLayout(rules, policies, sets);
        const delta = renderDelta(before, layout, targets, sizes);
        if (delta === null) await driver.apply(renderWhole(layout).text);
        else await driver.change(delta);
        before = layout;
        ({ text, sizes } = delta === null ? renderWhole(layout) : { text, sizes: delta.sizes });
      }
      const changed = contentOf(namespace);
      await driver.apply(renderWhole(before).text);
      assert.deepEqual(changed, contentOf(namespace));
      const other = planLayout(edgeRules({ sees: 'inbound' }), new Map(), sets);
      await driver.apply(renderWhole(other).text);
      const there = await driver.objects();
      assert.ok(there);
      await driver.apply(renderRewrite(before, there).text);
      assert.deepEqual(changed, contentOf(namespace));
    });

    it('leaves other tables alone when it is disabled', async () => {
      namespace.run('nft', 'add table inet somebody');
      await create(namespace).remove();
      assert.match(namespace.run('nft', 'list', 'tables'), /table inet somebody/);
    });
  });
}

/** The content of our table with sorted elements, without what depends on its history. */
function contentOf(namespace: Namespace): string[] {
  const listed = namespace.run('nft', '--json', 'list', 'table', 'inet', 'portcullis');
  const { nftables } = JSON.parse(listed) as { nftables: Readonly<Record<string, object>>[] };
  return nftables
    .map((item) =>
      JSON.stringify(item, (key, value: unknown) => {
        if (key === 'handle' || key === 'size' || key === 'metainfo') return undefined;
        return key === 'elem' && Array.isArray(value)
          ? value.map((one) => JSON.stringify(one)).toSorted()
          : value;
      }),
    )
    .toSorted();
}

describe('the nft command', { skip: lacking ?? false }, () => {
  it('says what is missing without the rights, without nft, and when nft hangs', async () => {
    const unprivileged = createNftDriver({
      command: ['setpriv', '--reuid=65534', '--clear-groups', '--inh-caps=-all', 'nft'],
    });
    assert.match((await unprivileged.probe()) ?? '', /root or CAP_NET_ADMIN/);
    const absent = createNftDriver({ command: ['nft-that-is-not-there'] });
    assert.match((await absent.probe()) ?? '', /not installed/);
    const hanging = createNftDriver({
      command: ['sh', '-c', 'exec sleep 60', 'sh'],
      timeoutMs: 50,
    });
    await assert.rejects(hanging.apply('add table inet portcullis\n'), {
      code: 'unavailable',
      message: /ended by SIGKILL/,
    });
  });
});
