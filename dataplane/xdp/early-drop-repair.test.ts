import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { attached, desired, setUp, WAN } from '../testing/early-drop.ts';
import { denyAll } from '../testing/policies.ts';

const A = '203.0.113.10';

describe('an early drop that another program detaches', () => {
  it('is attached again while an apply waits', async () => {
    const reading = Promise.withResolvers<boolean>();
    const { early, driver } = setUp({ openFlows: () => reading.promise });
    const applying = early.apply(desired([denyAll(A, [])]), []);
    await attached(driver);
    assert.deepEqual([early.repair(), driver.devices()], [null, [WAN]]);
    driver.detach(WAN);
    assert.match(early.repair() ?? '', /detached the early drop from wan/);
    assert.deepEqual([early.repair(), driver.devices(), early.repairs], [null, [WAN], 1]);
    reading.resolve(true);
    await applying;
    assert.deepEqual(driver.devices(), [WAN]);
  });

  it('passes replies after a repair that found egress unobserved, until open flows are known again', async (t) => {
    const { early, driver, passes } = setUp();
    const wanted = desired([denyAll(A, [])]);
    await early.apply(wanted, []);
    assert.deepEqual([passes(A, 9), early.repair()], [false, null]);
    driver.watch([]);
    t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER);
    assert.match(early.repair() ?? '', /egress program/);
    assert.deepEqual([driver.watchesExactly([WAN]), passes(A, 9)], [true, true]);
    await early.apply(wanted, []);
    assert.equal(passes(A, 9), false);
  });

  it('does not report egress as unobserved if an earlier agent left its program there', async (t) => {
    const { early, driver } = setUp();
    driver.watch([WAN]);
    await early.apply(desired([denyAll(A, [])]), []);
    t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER);
    assert.deepEqual([early.repair(), early.needsApply()], [null, false]);
  });

  it('continues with the old program, and is attached again, while the next one is verified', async () => {
    const { early, driver, passes } = setUp();
    await early.apply(desired([denyAll(A, [])]), []);
    const verified = Promise.withResolvers<void>();
    driver.beforePrepared = () => verified.promise;
    const geo: Policy = {
      ...denyAll(A, []),
      rules: [],
      geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:AA'] }],
    };
    const applying = early.apply(desired([geo], { version: '1' }), []);
    driver.detach(WAN);
    assert.match(early.repair() ?? '', /wan/);
    assert.deepEqual([driver.devices(), passes(A, 9), driver.loads], [[WAN], false, 1]);
    verified.resolve();
    await applying;
    assert.deepEqual([passes(A, 9), driver.loads, driver.preparedLoads], [false, 2, 1]);
  });

  it('is loaded again after another program changed its maps, found by a repair or a check, and reports it until then', async () => {
    const { early, driver } = setUp();
    const targets = Array.from({ length: 25 }, (_, index) => `198.18.0.${index}`);
    const wanted = desired([A, ...targets].map((target) => denyAll(target, [])));
    await early.apply(wanted, []);
    assert.deepEqual([early.repair(), early.check(A), early.needsApply()], [null, true, false]);
    driver.tampered.add(targets[24] ?? '');
    const looks = Array.from({ length: 4 }, () => early.repair());
    assert.equal(
      looks.filter((found) => found !== null).join(),
      'changed the maps of the early drop',
    );
    assert.deepEqual([early.needsApply(), early.repairs], [true, 0]);
    await early.apply(wanted, []);
    assert.deepEqual([early.needsApply(), early.repairs, driver.loads], [false, 1, 2]);
    driver.tampered.add(A);
    assert.deepEqual([early.check(A), early.needsApply()], [false, true]);
    await early.apply(wanted, []);
    assert.deepEqual([early.check(A), early.needsApply(), early.repairs], [true, false, 2]);
  });
});
