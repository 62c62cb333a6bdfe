import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../testing/policies.ts';
import { compilePolicy } from './policy/compile.ts';
import { type Change, type Driver, DriverError, type MapChange } from './driver.ts';
import { type Layout, planLayout } from './table/layout.ts';
import { objectsOf } from './table/objects.ts';
import {
  elementCommands,
  renderDelta,
  type RenderedDelta,
  renderWhole,
  tableBlock,
} from './table/render.ts';
import { renderRewrite } from './table/rewrite.ts';
import { numberOf } from './table/verdict-numbers.ts';

/** A number that the address `203.0.113.10` does not have. */
const NUMBER = numberOf('drop');
const SETS = { version: '1', sets: {} };

/** The guarantees of every driver. `fresh` returns one whose kernel has no Portcullis table. */
export function driverSuite(fresh: () => Driver): void {
  it('reports nothing missing on a host that can enforce', async () => {
    assert.equal(await fresh().probe(), null);
  });

  it('replaces any existing table by a whole one', async () => {
    const driver = fresh();
    assert.equal(await driver.present(), false);
    await driver.apply(renderWhole(layoutOf(allowing(443))).text);
    await driver.apply(renderWhole(layoutOf(allowing(80))).text);
    assert.equal(await driver.present(), true);
  });

  it('changes its stamp, if it has one, on every write and on no read', async () => {
    const driver = fresh();
    const stamps = [await driver.stamp()];
    for (const port of [443, 80]) {
      await driver.apply(renderWhole(layoutOf(allowing(port))).text);
      stamps.push(await driver.stamp());
    }
    await driver.check(renderWhole(layoutOf(allowing(81))).text);
    await driver.present();
    assert.equal(await driver.stamp(), stamps.at(-1));
    if (stamps[0] !== null) assert.equal(new Set(stamps).size, 3);
  });

  it('applies a delta to the existing table, also in steps', async () => {
    for (const way of ['apply', 'change'] as const) {
      const driver = fresh();
      const apply = (delta: RenderedDelta | null): Promise<void> => {
        assert.ok(delta);
        return way === 'apply' ? driver.apply(delta.text) : driver.change(delta);
      };
      const [before, after] = [layoutOf(allowing(443)), layoutOf(allowing(80))];
      const whole = renderWhole(before);
      await driver.apply(whole.text);
      const delta = renderDelta(before, after, after.targets.keys(), whole.sizes);
      await apply(delta);
      // The reverse delta is only valid after the first one.
      const back = renderDelta(after, before, after.targets.keys(), delta?.sizes ?? whole.sizes);
      await apply(back);
      await assert.rejects(apply(back), { name: 'DriverError', code: 'refused' });
    }
  });

  it('replaces every element of nearly full maps', async () => {
    for (const way of ['apply', 'change'] as const) {
      const driver = fresh();
      const [before, after] = [
        manyOf('203.0.113', '192.0.2.0/24'),
        manyOf('203.0.114', '10.0.0.0/8'),
      ];
      const whole = renderWhole(before);
      assert.ok(before.targets.size > (whole.sizes.get('address4') ?? 0) * 0.8);
      await driver.apply(whole.text);
      const delta = renderDelta(
        before,
        after,
        [...before.targets.keys(), ...after.targets.keys()],
        whole.sizes,
      );
      assert.ok(delta);
      await (way === 'apply' ? driver.apply(delta.text) : driver.change(delta));
    }
  });

  it('rewrites any table in place, for any difference', async () => {
    const driver = fresh();
    const few = layoutOf(allowing(443));
    const many = manyOf('203.0.113', '192.0.2.0/24');
    const tables: Layout[] = [
      few,
      // Exceeds the size of a map.
      planLayout(
        few.rules,
        new Map([...many.targets, ...manyOf('203.0.114', '10.0.0.0/8').targets]),
        SETS,
      ),
      // Another hook priority, other chains.
      planLayout(edgeRules({ sees: 'inbound' }), many.targets, SETS),
      planLayout(edgeRules({ fragments: 'limit', devices: [] }), new Map(), SETS),
      // A set of another size.
      planLayout(edgeRules({ validatedSources: 1_024 }), many.targets, SETS),
      few,
    ];
    assert.equal(await driver.objects(), null);
    await driver.apply(renderWhole(few).text);
    for (const layout of tables) {
      const there = await driver.objects();
      assert.ok(there);
      const { text, sizes } = renderRewrite(layout, there);
      await driver.apply(text);
      assert.deepEqual(await driver.objects(), objectsOf(tableBlock(layout, sizes)));
      // The rewrite of a correct table changes no object.
      const same = renderRewrite(layout, (await driver.objects()) ?? new Map()).text;
      assert.doesNotMatch(same, /^delete (?!limit)/m);
    }
  });

  it('rewrites a table of a version whose maps have verdicts instead of numbers', async () => {
    const driver = fresh();
    const layout = manyOf('203.0.113', '192.0.2.0/24');
    await driver.apply(withoutNumbers(renderWhole(layout).text));
    const there = await driver.objects();
    assert.match(there?.get('map address4') ?? '', /ipv4_addr : verdict/);
    const { text, sizes } = renderRewrite(layout, there ?? new Map());
    await driver.apply(text);
    assert.deepEqual(await driver.objects(), objectsOf(tableBlock(layout, sizes)));
  });

  it('rejects a change of missing elements, missing chains, and a duplicate key', async () => {
    const driver = fresh();
    await driver.apply(renderWhole(layoutOf(allowing(443))).text);
    const none = { map: 'address4', removed: [], added: [] };
    const removed = ['192.0.2.9'];
    const added = [['203.0.113.10', NUMBER]] as const;
    const nowhere = { map: 'learn4', added: [['192.0.2.8 . 53', 'goto nowhere']] } as const;
    const good = { map: 'address4', removed: [], added: [['192.0.2.9', NUMBER]] } as const;
    for (const bad of [{ removed }, { added }, nowhere]) {
      await assert.rejects(
        driver.change(changeOf([good, { ...none, ...bad }].slice('removed' in bad ? 1 : 0))),
        {
          name: 'DriverError',
          code: 'refused',
          message: /No such file|File exists/,
        },
      );
    }
    // Nothing of the rejected change exists.
    await assert.rejects(driver.change(changeOf([{ ...none, removed }])), DriverError);
    await driver.change(changeOf([good]));
    await driver.change(changeOf([{ ...none, removed }]));
  });

  it('changes nothing on an error and names the line', async () => {
    const driver = fresh();
    const layout = layoutOf(allowing(443));
    await driver.apply(renderWhole(layout).text);
    const bad = [
      `add element inet portcullis address4 { 192.0.2.9 : ${NUMBER} }`,
      'add element inet portcullis learn4 { 192.0.2.8 . 53 : goto nowhere }',
    ].join('\n');
    await assert.rejects(driver.apply(`${bad}\n`), (error) => {
      assert.ok(error instanceof DriverError);
      assert.equal(error.code, 'refused');
      assert.deepEqual(error.lines, [2]);
      assert.match(error.message, /No such file/);
      return true;
    });
    const gone = 'delete element inet portcullis address4 { 192.0.2.9 }\n';
    await assert.rejects(driver.check(gone), DriverError);
  });

  it('checks without changing', async () => {
    const driver = fresh();
    await driver.check(renderWhole(layoutOf(allowing(443))).text);
    assert.equal(await driver.present(), false);
    await assert.rejects(driver.check('no such command\n'), DriverError);
  });

  it('removes its table, and does nothing without one', async () => {
    const driver = fresh();
    await driver.apply(renderWhole(layoutOf(allowing(443))).text);
    await driver.remove();
    assert.equal(await driver.present(), false);
    await driver.remove();
    assert.equal(await driver.present(), false);
  });
}

function changeOf(elements: readonly MapChange[]): Change {
  const text = `${elementCommands(elements).join('\n')}\n`;
  return { text, steps: { prepare: '', elements, cleanup: '' } };
}

function layoutOf(...policies: readonly Policy[]): Layout {
  const targets = new Map(policies.map((policy) => [policy.target, compilePolicy(policy)]));
  return planLayout(edgeRules(), targets, SETS);
}

function withoutNumbers(text: string): string {
  return text
    .replaceAll(' : classid;', ' : verdict;')
    .replaceAll(/meta priority set (.*) map (@\w+) meta priority vmap @\w+/g, '$1 vmap $2')
    .replaceAll(/ : [\da-f]+:[\da-f]+/g, ' : drop');
}

/** The number of addresses in the smallest map. */
function manyOf(network: string, source: string): Layout {
  const hosts = Array.from({ length: 80 }, (_, index) => `${network}.${index + 1}`);
  return layoutOf(...hosts.map((target) => allowing(443, target, source)));
}

function allowing(port: number, target = '203.0.113.10', source = '192.0.2.0/24'): Policy {
  const any = { protocol: 'any', port: null, source: null } as const;
  return {
    target,
    ...EMPTY_POLICY,
    rules: [
      { ref: 'rule:1', action: 'allow', protocol: 'tcp', port, source },
      { ref: 'rule:2', action: 'deny', ...any },
    ],
  };
}
