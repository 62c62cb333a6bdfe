import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { edgeRules } from '../testing/policies.ts';
import { compilePolicy } from './compile.ts';
import { type Driver, DriverError } from './driver.ts';
import { type Layout, planLayout } from './layout.ts';
import { renderDelta, renderWhole } from './render.ts';

/** What every driver promises. `fresh` gives one whose kernel has no table of ours. */
export function driverSuite(fresh: () => Driver): void {
  it('finds nothing missing where it can enforce', async () => {
    assert.equal(await fresh().probe(), null);
  });

  it('replaces whatever is there by a whole table', async () => {
    const driver = fresh();
    assert.equal(await driver.present(), false);
    await driver.apply(renderWhole(layoutOf(allowing(443))).text);
    await driver.apply(renderWhole(layoutOf(allowing(80))).text);
    assert.equal(await driver.present(), true);
  });

  it('applies a delta upon what is there', async () => {
    const driver = fresh();
    const [before, after] = [layoutOf(allowing(443)), layoutOf(allowing(80))];
    const whole = renderWhole(before);
    await driver.apply(whole.text);
    const delta = renderDelta(before, after, after.targets.keys(), whole.sizes);
    assert.ok(delta);
    await driver.apply(delta.text);
    // The way back is only valid when the way there was taken.
    const back = renderDelta(after, before, after.targets.keys(), delta.sizes);
    await driver.apply(back?.text ?? '');
    await assert.rejects(driver.apply(back?.text ?? ''), DriverError);
  });

  it('changes nothing when it refuses, and says which line', async () => {
    const driver = fresh();
    const layout = layoutOf(allowing(443));
    await driver.apply(renderWhole(layout).text);
    const bad = [
      'add element inet portcullis address4 { 192.0.2.9 : drop }',
      'add element inet portcullis address4 { 192.0.2.8 : goto nowhere }',
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

  it('removes our table, and does nothing where there is none', async () => {
    const driver = fresh();
    await driver.apply(renderWhole(layoutOf(allowing(443))).text);
    await driver.remove();
    assert.equal(await driver.present(), false);
    await driver.remove();
    assert.equal(await driver.present(), false);
  });
}

function layoutOf(policy: Policy): Layout {
  const targets = new Map([[policy.target, compilePolicy(policy)]]);
  return planLayout(edgeRules(), targets, { version: '1', sets: {} });
}

function allowing(port: number): Policy {
  const any = { protocol: 'any', port: null, source: null } as const;
  return {
    target: '203.0.113.10',
    mitigations: [],
    baseline: [],
    geo: [],
    rules: [
      { ref: 'rule:1', action: 'allow', protocol: 'tcp', port, source: '192.0.2.0/24' },
      { ref: 'rule:2', action: 'deny', ...any },
    ],
    filters: [],
  };
}
